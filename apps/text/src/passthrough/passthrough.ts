import { isEventStream } from '@gateway/model-service/stream/is-event-stream';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import type { Frame } from '@gateway/service-kit/event-stream/frame-reader';
import type { Reply } from '@gateway/upstream/reply';
import { type Carrier, unlessRefused } from '../call/adapter.ts';
import { noteFirstByte, noteLosses } from '../call/call-notes.ts';
import { isStrict } from '../call/is-strict.ts';
import { queryOf } from '../call/query-of.ts';
import type { TextCall } from '../call/text-call.ts';
import { type Dropped, refuseLosses } from '../conversation/losses.ts';
import { PROTOCOLS } from '../conversion/protocols.ts';
import { ownBody } from './own-body.ts';
import { noteEventIds, noteStreamEnd, noteStreamId, noteWholeReply } from './passed-reply.ts';
import { passedStream } from './passed-stream.ts';
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
    onBody: (whole, sizeBytes) => noteWholeReply(call, reply, whole, sizeBytes),
    ...(request.streamed && {
      asStream: (whole) => replyFrames(whole, { hidesUsage: !showsUsage(request) }),
    }),
  });
  noteFirstByte(call, reply);
}

async function passStream(call: TextCall, reply: Reply): Promise<void> {
  const { endpoint, request, response, context, services } = call;
  const reader = PROTOCOLS[endpoint.protocol].createStreamReader({ hidesUsage: !showsUsage(request) });
  const onFrame = (frame: Frame) => noteEventIds(call, reply, frame);
  await relayStream({
    reply,
    response,
    context,
    stream: passedStream({ reader, requestId: context.requestId, onFrame }),
    status: reply.status,
    headers: streamHeaders(reply, context),
    keepAliveMs: services.keepAliveMs,
    onId: (id) => noteStreamId(call, reply, id),
    onFirstByte: () => noteFirstByte(call, reply),
    onEnd: () => noteStreamEnd(call, reply, reader),
  });
}
