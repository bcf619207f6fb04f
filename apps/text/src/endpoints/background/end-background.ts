import { GatewayError } from '@gateway/contracts/gateway-error';
import type { UsageResult } from '@gateway/contracts/usage-record';
import {
  type BackgroundResponse,
  type BackgroundResponses,
  type Ending,
  isFinal,
} from '../../background/background-responses.ts';
import type { TextServices } from '../../call/text-call.ts';
import { encodeOpenAiError } from '../../protocols/responses/errors.ts';
import type { ResponseOrigin } from '../../stored/kept-response.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import { keepEnd } from './keep-background.ts';
import type { RecordedEnd } from './record-events.ts';

/** Where background responses are kept. */
export interface BackgroundAccess {
  readonly services: TextServices;
  readonly responses: BackgroundResponses;
}

interface Completion {
  readonly id: string;
  /** As it was when it was begun. */
  readonly accepted: BackgroundResponse;
  readonly end: RecordedEnd;
  readonly usage: UsageResult;
  readonly headers: Ending['headers'];
  readonly origin: ResponseOrigin;
}

/**
 * Ends a response that has been generated. It is kept first: who reads its last event may continue it at once. Where it
 * cannot be kept, it says so itself.
 */
export async function completeBackground(
  { services, responses }: BackgroundAccess,
  { id, accepted, end, usage, headers, origin }: Completion,
): Promise<void> {
  const { status, event } = end;
  const isKept = await keepEnd(services, accepted, { ...end.response, id }, origin);
  const response = isKept ? end.response : { ...end.response, store: false };
  const isOurs = await responses.end(id, {
    status,
    response: isKept ? 'kept' : response,
    usage,
    headers,
    events: [{ ...event, rest: { ...event.rest, response } }],
  });
  // It was cancelled in this instant, and stays so.
  if (!isOurs && isKept) await keepCancelled(services, id, accepted);
}

/** Ends a response that could not be generated. Does nothing to one that has ended. */
export async function failBackground(
  { services, responses }: BackgroundAccess,
  id: string,
  thrown: unknown,
): Promise<void> {
  const known = await responses.find(id);
  if (known === null || isFinal(known.status)) return;
  const error = encodeOpenAiError(thrown instanceof GatewayError ? thrown : internal());
  const { code, message, param } = error;
  const response = { ...known.response, status: 'failed', error: { code, message } };
  await keepEnd(services, known, { ...response, id });
  await responses.end(id, {
    status: 'failed',
    response,
    headers: {},
    events: [
      { type: 'error', rest: { code, message, param, error } },
      { type: 'response.failed', rest: { response } },
    ],
  });
}

const internal = (): GatewayError =>
  new GatewayError('internal', 'The gateway had an internal error. Report the request id.');

/** Ends a response because its caller wants it. Resolves to false for one that has ended before. */
export async function cancelBackground(
  { services, responses }: BackgroundAccess,
  id: string,
  known: BackgroundResponse,
): Promise<boolean> {
  if (isFinal(known.status)) return false;
  const isOurs = await responses.end(id, { status: 'cancelled', response: null, headers: {}, events: [] });
  if (isOurs) await keepCancelled(services, id, known);
  return isOurs;
}

const keepCancelled = (services: TextServices, id: string, known: BackgroundResponse): Promise<boolean> => {
  const response: JsonObject = { ...known.response, status: 'cancelled', output: [] };
  return keepEnd(services, known, { ...response, id });
};
