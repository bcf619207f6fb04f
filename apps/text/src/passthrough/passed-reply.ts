import type { Frame } from '@gateway/service-kit/event-stream/frame-reader';
import type { Reply } from '@gateway/upstream/reply';
import { awaitEnd } from '../call/await-end.ts';
import { noteEstimatedUsage, noteUsage } from '../call/call-notes.ts';
import type { TextCall } from '../call/text-call.ts';
import type { TextEndpoint } from '../call/text-endpoint.ts';
import { PROTOCOLS } from '../conversion/protocols.ts';
import { estimatedUsage } from '../metering/estimate.ts';
import { isPending } from '../stored/background/ending.ts';
import type { ProviderId } from '../stored/id-origins.ts';
import { type Kept, receivedIds, replyWithin } from '../stored/received-ids.ts';
import { type JsonObject, textAt } from '../wire/json-object.ts';
import type { StreamReader } from '../wire/stream-reader.ts';
import { failureReported } from './passed-stream.ts';

/** Puts down what a whole reply says of itself. The caller gets it when its ids can be found again. */
export function noteWholeReply(
  call: TextCall,
  reply: Reply,
  whole: JsonObject,
  sizeBytes: number,
): Promise<unknown> | undefined {
  const { endpoint, context, request } = call;
  const { protocol } = endpoint;
  const isUnderWay = protocol === 'responses' && isPending(whole);
  const usage = PROTOCOLS[protocol].readUsage(whole);
  if (usage !== null) noteUsage(call, reply, usage);
  else if (isGenerated(endpoint) && !isUnderWay) {
    const lengths = { inputLength: request.bytes.length, outputLength: sizeBytes };
    noteEstimatedUsage(call, reply, estimatedUsage(null, lengths));
  }
  if (whole.status === 'failed') context.failure ??= failureReported('failed');
  const remembering = rememberIds(call, reply, receivedIds(protocol, whole, keptOf(call)));
  const id = textAt(whole, 'id');
  return isUnderWay && id !== null ? Promise.all([remembering, awaitEnd(call, reply, id)]) : remembering;
}

/** Endpoints that only count generate nothing. */
const isGenerated = ({ operation, protocol }: TextEndpoint): boolean => operation === protocol;

/** Before a streaming caller learns an id, it can be found. Nothing else is known of the reply yet. */
export function noteStreamId(call: TextCall, reply: Reply, id: string): Promise<unknown> | undefined {
  const { protocol } = call.endpoint;
  const remembering = rememberIds(call, reply, receivedIds(protocol, { id }, keptOf(call)));
  return call.request.background ? Promise.all([remembering, awaitEnd(call, reply, id)]) : remembering;
}

export function noteEventIds(call: TextCall, reply: Reply, frame: Frame): void {
  const { protocol } = call.endpoint;
  const within = replyWithin(protocol, frame);
  if (within !== null) void rememberIds(call, reply, receivedIds(protocol, within, keptOf(call)));
}

/** A background response whose stream has stopped before its end goes on; what it used comes later. */
export function noteStreamEnd(call: TextCall, reply: Reply, reader: StreamReader): void {
  const { tally, services, context } = call;
  if (tally.pending !== null) {
    if (!reader.ended) return;
    services.background.forget(tally.pending).catch(() => undefined);
    tally.pending = null;
    context.line.usagePending = undefined;
  }
  const { usage, ended, reportedFailure, outputLength } = reader;
  // What a stream says before its error event is not its final count.
  if (usage !== null && ended && reportedFailure === null) noteUsage(call, reply, usage);
  else {
    const lengths = { inputLength: call.request.bytes.length, outputLength };
    noteEstimatedUsage(call, reply, estimatedUsage(usage, lengths));
  }
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
