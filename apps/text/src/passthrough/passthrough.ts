import { GatewayError } from '@gateway/contracts/gateway-error';
import { isEventStream } from '@gateway/model-service/stream/event-stream';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import type { Frame } from '@gateway/service-kit/event-stream/frame-reader';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Reply } from '@gateway/upstream/replies/reply';
import { logConsumed, logFirstByte, reportDropped } from '../call/call-log.ts';
import { missed } from '../call/keep-response.ts';
import { failureOf, NOTHING_KNOWN, type ReplyOutcome } from '../call/outcome.ts';
import { type PreparedAttempt, unlessRefused } from '../call/prepared-attempt.ts';
import { isStrict, queryOf } from '../call/request-head.ts';
import type { TextCall } from '../call/text-call.ts';
import { refuseLosses } from '../conversation/losses.ts';
import { PROTOCOLS } from '../conversion/protocols.ts';
import { threadStream } from '../threads/thread-stream.ts';
import { objectAt, parseObject, textAt } from '../wire/json-object.ts';
import { streamHeaders, upstreamRequestHeaders } from './headers.ts';
import { ownBody } from './own-body.ts';
import {
  consumedByStream,
  consumedByWhole,
  keepEvent,
  keepStreamId,
  keepWholeReply,
} from './passed-reply.ts';
import { passedStream } from './passed-stream.ts';
import { relayJson } from './relay-json.ts';
import { refusesUsageOption, requestsUsage, showsUsage, usageOption } from './usage-option.ts';

/** Prepares a call for a candidate of its own protocol: only `ownBody` rewrites the body. */
export const preparePassthrough = (
  call: TextCall,
  candidate: Candidate,
  withUsage = requestsUsage(call, candidate),
  isThreaded = call.thread?.isKeptBy(candidate) ?? false,
): PreparedAttempt | GatewayError =>
  unlessRefused(() => {
    const { endpoint, message, thread } = call;
    const sent = thread !== null && isThreaded ? { ...call, request: thread.sent } : call;
    const { body, dropped } = ownBody(sent, candidate, withUsage ? usageOption(sent.request) : null);
    if (isStrict(message)) refuseLosses(missed(call, dropped));
    return {
      request: {
        operation: endpoint.operation,
        method: 'POST',
        query: queryOf(message),
        headers: upstreamRequestHeaders(endpoint, message, thread !== null && !isThreaded),
        body,
      },
      retry: (refusal) => {
        if (withUsage && refusesUsageOption(refusal))
          return preparePassthrough(call, candidate, false, isThreaded);
        return isThreaded && refusesThread(refusal)
          ? preparePassthrough(call, candidate, withUsage, false)
          : null;
      },
      receive: (reply) => {
        reportDropped(call, endpoint.protocol, dropped);
        return isEventStream(reply.headers) ? passStream(sent, reply) : passWhole(sent, reply);
      },
    };
  });

async function passWhole(call: TextCall, reply: Reply): Promise<ReplyOutcome> {
  const { endpoint, request, response, context } = call;
  const { replyFrames } = PROTOCOLS[endpoint.protocol];
  let consumed = NOTHING_KNOWN;
  const thrown = await failureOf(
    relayJson({
      reply,
      response,
      context,
      onBody: (whole, sizeBytes, parsed) => {
        consumed = consumedByWhole(call, whole, sizeBytes);
        logConsumed(call, reply, consumed);
        return keepWholeReply(call, reply, { whole, parsed }, (pending) => {
          consumed = pending;
          logConsumed(call, reply, pending);
        });
      },
      ...(request.streamed && {
        asStream: (whole) => replyFrames(whole, { hidesUsage: !showsUsage(request) }),
      }),
    }),
  );
  return { ...consumed, firstByteMs: thrown === undefined ? logFirstByte(call, reply) : null, thrown };
}

async function passStream(call: TextCall, reply: Reply): Promise<ReplyOutcome> {
  const { endpoint, request, response, context, services } = call;
  const reader = PROTOCOLS[endpoint.protocol].createStreamReader({ hidesUsage: !showsUsage(request) });
  const onFrame = (frame: Frame) => keepEvent(call, reply, frame);
  const stream = passedStream({ reader, requestId: context.requestId, onFrame });
  let firstByteMs: number | null = null;
  let consumed = NOTHING_KNOWN;
  const thrown = await failureOf(
    relayStream({
      reply,
      response,
      context,
      stream: threadStream(call, reply, stream),
      status: reply.status,
      headers: streamHeaders(reply, context),
      keepAliveMs: services.keepAliveMs,
      onId: (id) =>
        keepStreamId(call, reply, id, (pending) => {
          consumed = pending;
        }),
      onFirstByte: () => {
        firstByteMs = logFirstByte(call, reply);
      },
      onEnd: () => {
        const { pendingId } = consumed;
        consumed = consumedByStream(call, reader, pendingId);
        if (pendingId !== null && consumed.pendingId === null)
          services.background.forget(pendingId).catch(() => undefined);
        logConsumed(call, reply, consumed);
      },
    }),
  );
  return { ...consumed, firstByteMs, thrown };
}

/** A provider does not have a thread as the gateway has it, or cannot keep it. */
const NOT_KEPT = new Set<string | null>([
  'thread_not_found',
  'thread_already_continued',
  'thread_continue_in_flight',
  'thread_unsupported_request',
]);

/** Whether a channel refused a thread's turn, which it would not as the whole conversation. */
function refusesThread(refusal: unknown): boolean {
  if (!(refusal instanceof GatewayError) || refusal.options.relay === undefined) return false;
  const error = objectAt(parseObject(refusal.options.relay.body) ?? {}, 'error');
  const details = error && objectAt(error, 'details');
  return details !== null && NOT_KEPT.has(textAt(details, 'error_code'));
}
