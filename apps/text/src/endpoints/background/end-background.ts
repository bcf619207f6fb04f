import { GatewayError } from '@gateway/contracts/gateway-error';
import type { UsageResult } from '@gateway/contracts/usage/usage-record';
import {
  type BackgroundResponse,
  type BackgroundResponses,
  BackgroundStatus,
  type Ending,
  isFinal,
} from '../../background/background-responses.ts';
import type { TextServices } from '../../call/request/text-call.ts';
import { consumptionOf, costOf, knownUsage, pricesOf } from '../../metering/consumption.ts';
import { encodeOpenAiError } from '../../protocols/responses/reply/errors.ts';
import { readUsageAtTier } from '../../protocols/responses/reply/usage.ts';
import { createOutputCollector } from '../../protocols/responses/stream/output-collector.ts';
import { originIn, type ResponseOrigin } from '../../stored/response-record.ts';
import type { WindowEnd } from '../../stored/store/conversation-store.ts';
import { answerLength } from '../../wire/answer-length.ts';
import { type JsonObject, parseObject } from '../../wire/json-object.ts';
import { findOwned, readStored } from '../stored/read-stored.ts';
import type { RecordedEnd } from './recording-caller.ts';
import { storeEnd } from './store-background.ts';

/** Where background responses are stored. */
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
  /** The conversation that it went on from. */
  readonly after: WindowEnd | null;
}

/**
 * Ends a response that has been generated. It is stored first, because a reader of its last event may continue it at once. Where it
 * cannot be stored, the response itself has `store: false`.
 */
export async function completeBackground(
  { services, responses }: BackgroundAccess,
  { id, accepted, end, usage, headers, origin, after }: Completion,
): Promise<void> {
  const { status, event } = end;
  const isKept = await storeEnd(services, accepted, { ...end.response, id }, { origin, after });
  const response = isKept ? end.response : { ...end.response, store: false };
  const isOurs = await responses.end(id, {
    status,
    response: isKept ? 'kept' : response,
    usage,
    headers,
    events: [{ ...event, rest: { ...event.rest, response } }],
  });
  // It was cancelled in this instant, and stays so.
  if (!isOurs && isKept) await storeCancelled(services, id, accepted);
}

/**
 * Ends a response that was stored by a worker which died before it could end it. Resolves to what it used; null where
 * there is none.
 */
export async function recoverBackground(
  { services, responses }: BackgroundAccess,
  id: string,
): Promise<{ readonly status: BackgroundStatus; readonly usage: UsageResult } | null> {
  const known = await responses.find(id);
  if (known === null) return null;
  const { usage } = known.ending ?? {};
  if (usage !== undefined) return { status: known.status, usage };
  const stored = known.isKept && !isFinal(known.status) ? await findOwned(services, known.owner, id) : null;
  const status = BackgroundStatus.safeParse(stored?.record.data.status).data ?? 'queued';
  if (stored === null || !isFinal(status)) return null;
  const response = await readStored(services, stored);
  const recovered = usageOfStored(services, response, originIn(stored.record.data));
  await responses.end(id, {
    status,
    response: 'kept',
    usage: recovered,
    headers: {},
    events: [{ type: `response.${status}`, rest: { response } }],
  });
  return { status, usage: recovered };
}

function usageOfStored(
  { upstream }: TextServices,
  response: JsonObject,
  { channel, requestedModel }: ResponseOrigin,
): UsageResult {
  // Its request is not known any more.
  const estimates = { inputTokens: 0, outputLength: () => answerLength(response) };
  const { usage, estimated } = knownUsage(readUsageAtTier(response), true, estimates);
  const model = upstream.resolveModel(requestedModel);
  const route = model?.routes.find((one) => one.channel.name === channel);
  const price = (route === undefined ? model?.price : model?.priceAt(route)) ?? null;
  const unitPrices = pricesOf(price, usage);
  return {
    outcome: 'ok',
    channel,
    attempts: 1,
    durationMs: 0,
    firstByteMs: null,
    consumption: consumptionOf(usage),
    estimated,
    costMicroUsd: costOf(price, usage),
    ...(unitPrices !== null && { detail: { unitPrices } }),
  };
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
  const output = await outputSoFar(responses, id);
  const response = { ...known.response, status: 'failed', error: { code, message }, output };
  const isKept = await storeEnd(services, known, { ...response, id });
  await responses.end(id, {
    status: 'failed',
    response: isKept ? 'kept' : response,
    headers: {},
    events: [
      { type: 'error', rest: { code, message, param, error } },
      { type: 'response.failed', rest: { response } },
    ],
  });
}

/** What its events show of a response that nobody has ended, as far as they are stored. */
async function outputSoFar({ log }: Pick<BackgroundResponses, 'log'>, id: string): Promise<JsonObject[]> {
  const collector = createOutputCollector();
  let isMore = true;
  for (let after = -1; isMore; ) {
    const page = await log.read(id, after);
    [after, isMore] = [page.last, page.isFull];
    for (const { values } of page.entries) {
      const [type = '', members = ''] = values;
      const event = parseObject(members);
      if (event !== null) collector.event(type, event, members);
    }
  }
  return [...collector.items('incomplete').values()];
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
  if (isOurs) await storeCancelled(services, id, known);
  return isOurs;
}

const storeCancelled = (services: TextServices, id: string, known: BackgroundResponse): Promise<boolean> => {
  const response: JsonObject = { ...known.response, status: 'cancelled', output: [] };
  return storeEnd(services, known, { ...response, id });
};
