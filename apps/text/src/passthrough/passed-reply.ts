import type { Frame } from '@gateway/service-kit/event-stream/frame-reader';
import type { Reply } from '@gateway/upstream/reply';
import { isPending } from '../background/ending.ts';
import { keepPending } from '../call/metered-call.ts';
import { type Consumed, guessedUsage, NOTHING_KNOWN, reportedUsage } from '../call/outcome.ts';
import type { TextCall } from '../call/text-call.ts';
import type { TextEndpoint } from '../call/text-endpoint.ts';
import { PROTOCOLS } from '../conversion/protocols.ts';
import { estimatedUsage } from '../metering/consumption.ts';
import type { ProviderId } from '../stored/id-origins.ts';
import { type Kept, receivedIds, replyWithin } from '../stored/received-ids.ts';
import { type JsonObject, textAt } from '../wire/json-object.ts';
import type { StreamReader } from '../wire/stream-reader.ts';
import { failureReported } from './passed-stream.ts';

/** What a whole reply says that it consumed, or an estimate. */
export function consumedByWhole(
  { endpoint, request }: TextCall,
  whole: JsonObject,
  sizeBytes: number,
): Consumed {
  const usage = PROTOCOLS[endpoint.protocol].readUsage(whole);
  if (usage !== null) return reportedUsage(usage);
  if (!isGenerated(endpoint) || isUnderWay(endpoint, whole)) return NOTHING_KNOWN;
  return guessedUsage(estimatedUsage(null, { inputLength: request.inputLength, outputLength: sizeBytes }));
}

/** Endpoints that only count generate nothing. */
const isGenerated = ({ operation, protocol }: TextEndpoint): boolean => operation === protocol;

const isUnderWay = ({ protocol }: TextEndpoint, whole: JsonObject): boolean =>
  protocol === 'responses' && isPending(whole);

/**
 * Keeps where the ids of a whole reply were made, before its caller learns them. Where the response goes on without its
 * caller, `onPending` gets what is known of its usage.
 */
export function keepWholeReply(
  call: TextCall,
  reply: Reply,
  whole: JsonObject,
  onPending: (consumed: Consumed) => void,
): Promise<unknown> | undefined {
  const { endpoint, context } = call;
  if (whole.status === 'failed') context.failure ??= failureReported('failed');
  const remembering = rememberIds(call, reply, receivedIds(endpoint.protocol, whole, keptOf(call)));
  const id = textAt(whole, 'id');
  return isUnderWay(endpoint, whole) && id !== null
    ? Promise.all([remembering, keepPending(call, reply, id).then(onPending)])
    : remembering;
}

/** The same for a stream, of which only the id is known yet. */
export function keepStreamId(
  call: TextCall,
  reply: Reply,
  id: string,
  onPending: (consumed: Consumed) => void,
): Promise<unknown> | undefined {
  const remembering = rememberIds(call, reply, receivedIds(call.endpoint.protocol, { id }, keptOf(call)));
  return call.request.background
    ? Promise.all([remembering, keepPending(call, reply, id).then(onPending)])
    : remembering;
}

export function keepEventIds(call: TextCall, reply: Reply, frame: Frame): void {
  const { protocol } = call.endpoint;
  const within = replyWithin(protocol, frame);
  if (within !== null) void rememberIds(call, reply, receivedIds(protocol, within, keptOf(call)));
}

/** A background response whose stream has stopped before its end goes on; its usage becomes known later. */
export function consumedByStream(
  { request }: TextCall,
  { usage, ended, reportedFailure, outputLength }: StreamReader,
  pendingId: string | null,
): Consumed {
  if (pendingId !== null && !ended) return { ...NOTHING_KNOWN, pendingId };
  // What a stream says before its error event is not its final count.
  if (usage !== null && ended && reportedFailure === null) return reportedUsage(usage);
  return guessedUsage(estimatedUsage(usage, { inputLength: request.inputLength, outputLength }));
}

const keptOf = ({ request }: TextCall): Kept => ({
  responses: request.stored,
  messages: request.keepsMessage,
});

/** Without Redis the answer still goes out. */
function rememberIds(call: TextCall, reply: Reply, ids: readonly ProviderId[]): Promise<void> | undefined {
  const { services, identity, context } = call;
  if (ids.length === 0) return undefined;
  const { channel, model, requestedModel } = reply.candidate;
  const response = ids.find(({ kind }) => kind === 'response');
  if (response !== undefined) context.line.responseId = response.id;
  return services.origins
    .remember(ids, { keyId: identity.keyId, channel: channel.name, model, requestedModel })
    .catch(() => {
      context.line.responseKept = false;
    });
}
