import { GatewayError } from '@gateway/contracts/gateway-error';
import { mayBeBilled } from '@gateway/contracts/usage/usage-without-reply';
import { knownUsage } from '../../metering/consumption.ts';
import { callsOf } from '../../wire/tool-calls.ts';
import type { Usage } from '../../wire/usage.ts';
import type { TextCall } from '../request/text-call.ts';
import { estimatesFor } from './metered-call.ts';
import { type Consumed, consumedOf, NOTHING_KNOWN } from './outcome.ts';

/** What has come of an answer that broke off before its caller got any of it. */
export interface Part {
  readonly usage: Usage | null;
  /** Characters of the answer. */
  readonly outputLength: number;
}

/**
 * What such an answer used: what its upstream has reported or sent is charged, whatever ended it; where nothing has come, the
 * input, if the upstream may have worked on it.
 */
export function consumedByPart(call: TextCall, { usage, outputLength }: Part, error: unknown): Consumed {
  const isReported = usage !== null && (isSome(usage) || callsOf(usage) !== null);
  if (!isReported && outputLength === 0 && !isBilled(error)) return NOTHING_KNOWN;
  return consumedOf(
    knownUsage(
      usage,
      false,
      estimatesFor(call, () => outputLength),
    ),
  );
}

/** The same for whole replies, which report all that they have used; an upstream that went on after them may bill more. */
export const consumedByLost = (call: TextCall, part: Part, error: unknown): Consumed =>
  part.usage?.reported && !isBilled(error)
    ? consumedOf({ usage: part.usage, estimated: false })
    : consumedByPart(call, part, error);

/** A report of zeros beside nothing is true. */
const isSome = ({ reported, inputTokens, outputTokens, audioMs = 0 }: Usage): boolean =>
  reported && inputTokens + outputTokens + audioMs > 0;

/** Whether an upstream may bill what ended with this error. */
export const isBilled = (error: unknown): boolean => error instanceof GatewayError && mayBeBilled(error.code);
