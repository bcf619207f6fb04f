import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import type { ConsumedUsage } from '@gateway/contracts/usage/usage-record';
import type { LineAnswer } from '../../batches/journal-entries.ts';
import type { TextServices } from '../../call/request/text-call.ts';
import type { LineContext } from './batch-endpoint.ts';
import { LineCaller } from './line-caller.ts';
import { LINE_ENDPOINTS } from './text-lines.ts';

/** The request of a line, as its endpoint answers it. */
export interface LineInput {
  readonly model: string;
  /** The path of its endpoint. */
  readonly url: string;
  /** The JSON body, as the line has it. */
  readonly body: Buffer;
  /** Those of the batch's headers that its requests have. */
  readonly headers: Readonly<Record<string, string>>;
  readonly identity: Identity;
  /** What its answer may have at most, as estimated. Absent: as little as its body. */
  readonly answerBytes?: number | undefined;
}

/** A line that was answered, and what that used. */
export interface AnsweredLine extends LineAnswer {
  readonly usage: ConsumedUsage;
}

interface AnswerContext extends LineContext {
  readonly requestId: string;
  readonly trace?: RequestTrace | undefined;
}

/** Has the endpoint of a line answer it, as a caller who waits. @throws what its caller gets in place of an answer */
export async function answerLine(
  services: TextServices,
  { url, body, headers, identity }: LineInput,
  context: AnswerContext,
): Promise<AnsweredLine> {
  const { requestId, trace, signal, consumed } = context;
  const endpoint = LINE_ENDPOINTS.get(url);
  if (endpoint === undefined) throw new Error(`no endpoint ${url}`);
  const caller = new LineCaller(headers, url);
  const leave = () => caller.leave();
  signal.addEventListener('abort', leave, { once: true });
  consumed(null);
  try {
    const request = { services, caller, identity, bytes: body, requestId, trace };
    const usage = await endpoint.answer(request, context);
    if (!caller.hasEnded) throw withoutEnd();
    return { status: caller.status, body: caller.body, usage };
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
}

const withoutEnd = (): GatewayError =>
  new GatewayError('outcome_unknown', {
    message: 'The answer was cut off. It was not repeated, because it may have been billed.',
    retry: false,
  });
