import { DONE_FRAME, dataFrame, isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import type { Candidate } from '@gateway/upstream/candidate';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import { logConsumed, logFirstByte } from '../call/accounting/call-log.ts';
import { type Consumed, NOTHING_KNOWN, type ReplyOutcome, writtenBy } from '../call/accounting/outcome.ts';
import type { PreparedAttempt } from '../call/attempts/prepared-attempt.ts';
import { MAX_REPLY_BYTES } from '../call/attempts/whole-body.ts';
import { queryOf } from '../call/request/request-head.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { createChatStreamReader } from '../protocols/chat/stream/stream-reader.ts';
import type { JsonObject } from '../wire/json-object.ts';
import { streamHeaders } from './headers.ts';
import { consumedByStream, consumedByWhole } from './passed-reply.ts';
import { explainFor, passedStream } from './passed-stream.ts';
import { relayJson } from './relay-json.ts';
import { refusesUsageOption, requestsUsage, showsUsage, usageOption } from './usage-option.ts';
import { replaceOwnMembers } from './write-own-body.ts';

/**
 * Prepares a completion of a bare prompt for a channel that has such completions: the caller's bytes, with the channel's name for the
 * model and, in a stream, the wish to be told the usage. Nothing else is changed, in either direction.
 */
export function prepareCompletion(
  call: TextCall,
  candidate: Candidate,
  withUsage = requestsUsage(call, candidate),
): PreparedAttempt {
  const { caller, endpoint, request } = call;
  request.content.release();
  return {
    request: {
      operation: endpoint.operation,
      method: 'POST',
      query: queryOf(caller),
      headers: caller.headers,
      body: replaceOwnMembers(request.bytes, {
        model: candidate.model === request.model ? null : candidate.model,
        streamOptions: withUsage ? usageOption(request) : null,
        setsUnstored: false,
      }),
    },
    retry: (refusal) =>
      withUsage && refusesUsageOption(refusal) ? prepareCompletion(call, candidate, false) : null,
    receive: (reply) =>
      request.streamed && isEventStream(reply.headers) ? passStream(call, reply) : passWhole(call, reply),
  };
}

async function passWhole(call: TextCall, reply: Reply): Promise<ReplyOutcome> {
  const { request, caller, context } = call;
  let consumed = NOTHING_KNOWN;
  const relay = async () => {
    if (isEventStream(reply.headers))
      throw new UnreadableReply('The upstream answered with a stream, which was not requested.');
    const bytes = await reply.bytes(MAX_REPLY_BYTES);
    return relayJson({
      ...{ reply, bytes, isCollected: false, caller, context },
      onBody: (whole, parsed) => {
        consumed = consumedByWhole(call, whole, parsed);
        logConsumed(call, reply, consumed);
        return undefined;
      },
      ...(request.streamed && { asStream: (whole) => framesOf(whole, showsUsage(request)) }),
    });
  };
  const written = await writtenBy(relay());
  const firstByteMs = written.thrown === undefined ? logFirstByte(call, reply) : null;
  return { ...consumed, firstByteMs, ...written };
}

/** A whole completion as a stream, whose chunks have the same members. */
const framesOf = ({ usage, ...chunk }: JsonObject, withUsage: boolean): readonly string[] => [
  dataFrame(chunk),
  ...(withUsage ? [dataFrame({ ...chunk, choices: [], usage })] : []),
  DONE_FRAME,
];

async function passStream(call: TextCall, reply: Reply): Promise<ReplyOutcome> {
  const { request, caller, context, services } = call;
  // Its chunks differ from those of a chat in one member, which the reader knows.
  const reader = createChatStreamReader({
    hidesUsage: !showsUsage(request),
    answers: request.output.answers,
  });
  const stream = passedStream({
    ...{ reader, requestId: context.requestId, namesEvents: false, explain: explainFor(reply) },
    onFrame: () => null,
  });
  let firstByteMs: number | null = null;
  let consumed: Consumed = NOTHING_KNOWN;
  const written = await writtenBy(
    relayStream({
      ...{ reply, caller, context, stream, status: reply.status, keepAliveMs: services.keepAliveMs },
      headers: streamHeaders(reply, context),
      onFirstByte: () => {
        firstByteMs = logFirstByte(call, reply);
      },
      onEnd: () => {
        consumed = consumedByStream(call, reader, null, 0);
        logConsumed(call, reply, consumed);
      },
    }),
  );
  return { ...consumed, firstByteMs, ...written };
}
