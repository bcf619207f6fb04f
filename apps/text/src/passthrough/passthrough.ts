import { isEventStream } from '@gateway/model-service/stream/is-event-stream';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import type { Reply } from '@gateway/upstream/reply';
import { noteEstimatedUsage, noteFirstByte, noteLosses, noteUsage } from '../call-notes.ts';
import { type Carrier, unlessRefused } from '../carrier.ts';
import { type JsonObject, textAt } from '../json-object.ts';
import { estimatedUsage } from '../metering/estimate.ts';
import { type Dropped, refuseLosses } from '../protocols/conversation/losses.ts';
import { PROTOCOLS } from '../protocols/protocols.ts';
import type { StreamReader } from '../protocols/stream-reader.ts';
import { queryOf } from '../query-of.ts';
import type { TextCall } from '../text-call.ts';
import type { TextEndpoint } from '../text-endpoint.ts';
import { isStrict } from '../translation/is-strict.ts';
import { ownBody } from './own-body.ts';
import { failureReported, passedStream } from './passed-stream.ts';
import { relayJson } from './relay-json.ts';
import { streamHeaders } from './reply-headers.ts';
import { upstreamRequestHeaders } from './upstream-request-headers.ts';
import { createUsageQuestion, showsUsage } from './usage-question.ts';

/** Carries a call to a channel of its own protocol: nothing is rewritten but what `ownBody` says. */
export function createPassthrough(call: TextCall): Carrier {
  const { endpoint, message } = call;
  const usageQuestion = createUsageQuestion(call);
  let dropped: readonly Dropped[] = [];
  return {
    request: (candidate) =>
      unlessRefused(() => {
        const own = ownBody(call, candidate, usageQuestion.streamOptions(candidate));
        if (isStrict(message)) refuseLosses(own.dropped);
        dropped = own.dropped;
        return {
          operation: endpoint.operation,
          method: 'POST',
          query: queryOf(message),
          headers: upstreamRequestHeaders(endpoint, message),
          body: own.body,
        };
      }),
    learn: (error) => usageQuestion.isRefused(error),
    relay: async (reply) => {
      noteLosses(call, endpoint.protocol, dropped);
      if (isEventStream(reply.headers)) await passStream(call, reply);
      else await passWhole(call, reply);
    },
  };
}

async function passWhole(call: TextCall, reply: Reply): Promise<void> {
  const { endpoint, request, response, context } = call;
  const { replyFrames } = PROTOCOLS[endpoint.protocol];
  await relayJson({
    reply,
    response,
    context,
    onBody: (whole, sizeBytes) => {
      noteWholeReply(call, reply, whole, sizeBytes);
      return rememberOrigin(call, reply, textAt(whole, 'id'));
    },
    ...(request.streamed && {
      asStream: (whole) => replyFrames(whole, { hidesUsage: !showsUsage(request) }),
    }),
  });
  noteFirstByte(call, reply);
}

async function passStream(call: TextCall, reply: Reply): Promise<void> {
  const { endpoint, request, response, context, services } = call;
  const reader = PROTOCOLS[endpoint.protocol].createStreamReader({ hidesUsage: !showsUsage(request) });
  await relayStream({
    reply,
    response,
    context,
    stream: passedStream(reader, context.requestId),
    status: reply.status,
    headers: streamHeaders(reply, context),
    keepAliveMs: services.keepAliveMs,
    onId: (id) => rememberOrigin(call, reply, id),
    onFirstByte: () => noteFirstByte(call, reply),
    onEnd: () => noteStreamUsage(call, reply, reader),
  });
}

/** Endpoints that only count generate nothing. */
const isGenerated = ({ operation, protocol }: TextEndpoint): boolean => operation === protocol;

/** A background response says what it used when it has ended. */
const isUnderWay = ({ status }: JsonObject): boolean => status === 'queued' || status === 'in_progress';

function noteWholeReply(call: TextCall, reply: Reply, whole: JsonObject, sizeBytes: number): void {
  const { endpoint, context, request } = call;
  const usage = PROTOCOLS[endpoint.protocol].readUsage(whole);
  if (usage !== null) noteUsage(call, reply, usage);
  else if (isGenerated(endpoint) && !isUnderWay(whole)) {
    const lengths = { inputLength: request.bytes.length, outputLength: sizeBytes };
    noteEstimatedUsage(call, reply, estimatedUsage(null, lengths));
  }
  if (whole.status === 'failed') context.failure ??= failureReported('failed');
}

function noteStreamUsage(call: TextCall, reply: Reply, reader: StreamReader): void {
  const { usage, ended, reportedFailure, outputLength } = reader;
  // What a stream says before its error event is not its final count.
  if (usage !== null && ended && reportedFailure === null) noteUsage(call, reply, usage);
  else {
    const lengths = { inputLength: call.request.bytes.length, outputLength };
    noteEstimatedUsage(call, reply, estimatedUsage(usage, lengths));
  }
}

/** Before the caller learns the id of a stored response, it can be found. Without Redis the answer still goes out. */
function rememberOrigin(call: TextCall, reply: Reply, id: string | null): Promise<void> | undefined {
  const { endpoint, request, services, identity, context } = call;
  if (endpoint.protocol !== 'responses' || !request.stored || id === null) return undefined;
  const { channel, model, requestedModel } = reply.candidate;
  context.line.responseId = id;
  return services.origins
    .remember(id, { keyId: identity.keyId, channel: channel.name, model, requestedModel })
    .catch(() => {
      context.line.responseKept = false;
    });
}
