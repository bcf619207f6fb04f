import type { Frame } from '@gateway/contracts/event-stream/frame-reader';
import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Reply } from '@gateway/upstream/replies/reply';
import { consumedByPart } from '../call/accounting/broken-answer.ts';
import { logConsumed, logFirstByte, reportDropped } from '../call/accounting/call-log.ts';
import { type Consumed, NOTHING_KNOWN, type ReplyOutcome, writtenBy } from '../call/accounting/outcome.ts';
import { refusesThoughts } from '../call/attempts/foreign-thoughts.ts';
import { collectedLarge } from '../call/attempts/large-reply.ts';
import { type PreparedAttempt, unlessRefusedLater } from '../call/attempts/prepared-attempt.ts';
import { MAX_REPLY_BYTES } from '../call/attempts/whole-body.ts';
import { turnIn } from '../call/request/history.ts';
import { isStrict, queryOf } from '../call/request/request-head.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { storeLastFrame } from '../call/storing/store-last-frame.ts';
import { missed, storeResponse } from '../call/storing/store-response.ts';
import { storesTurn } from '../call/storing/store-turn.ts';
import { type MaybePromise, whenDone } from '../large/maybe-promise.ts';
import { traceAnswer } from '../metering/call-trace.ts';
import { refuseLosses } from '../neutral/losses.ts';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { bringsIds } from '../stored/origins/received-ids.ts';
import { answeredIn } from '../wire/answered-in.ts';
import { type JsonObject, objectAt, parseObject, textAt } from '../wire/json-object.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { collectPassed } from './collect-passed.ts';
import type { GivenIds } from './given-ids.ts';
import { droppedBetas, streamHeaders, upstreamRequestHeaders } from './headers.ts';
import { type OwnBody, ownBody } from './own-body.ts';
import { passLargeEvent } from './pass-large-event.ts';
import {
  consumedByStream,
  consumedByWhole,
  givenIds,
  repeatedIds,
  storeEvent,
  storeStreamId,
  storeWholeReply,
} from './passed-reply.ts';
import { explainFor, passedStream } from './passed-stream.ts';
import { betasRefusedIn } from './refused-betas.ts';
import { relayJson } from './relay-json.ts';
import { isForThread, relayLarge } from './relay-large.ts';
import { refusesUsageOption, requestsUsage, showsUsage, usageOption } from './usage-option.ts';

/** How a request is sent that its channel has refused in another form. */
interface Form {
  /** Its usage is requested although the caller did not. */
  readonly withUsage: boolean;
  /** Of a thread that the candidate stores, only the turn is sent. */
  readonly isThreaded: boolean;
  /** Without reasoning that the channel has refused as not its own. */
  readonly withholdsThoughts: boolean;
  /** The betas that it goes without, because the channel has refused them. */
  readonly refusedBetas: readonly string[];
}

/** Prepares a call for a candidate of its own protocol: only `ownBody` rewrites the body. */
export const preparePassthrough = (
  call: TextCall,
  candidate: Candidate,
  form: Partial<Form> = {},
): MaybePromise<PreparedAttempt | GatewayError> =>
  unlessRefusedLater(() => {
    const turn = turnIn(call.history);
    const {
      withUsage = requestsUsage(call, candidate),
      isThreaded = turn?.isStoredBy(candidate) ?? false,
      withholdsThoughts = false,
      refusedBetas = [],
    } = form;
    const sent = turn !== null && isThreaded ? { ...call, request: turn.sent } : call;
    const streamOptions = withUsage ? usageOption(sent.request) : null;
    const whole = { withUsage, isThreaded, withholdsThoughts, refusedBetas };
    return whenDone(ownBody(sent, candidate, { streamOptions, withholdsThoughts }), (own) =>
      attemptWith(call, candidate, { sent, own, streamOptions, form: whole }),
    );
  });

interface PassedAttempt {
  /** The call with the request that is sent: of a thread that the candidate stores, only the turn. */
  readonly sent: TextCall;
  readonly own: OwnBody;
  readonly streamOptions: JsonObject | null;
  readonly form: Form;
}

function attemptWith(call: TextCall, candidate: Candidate, attempt: PassedAttempt): PreparedAttempt {
  const { endpoint, caller } = call;
  const isTurn = turnIn(call.history) !== null;
  const { sent, own, streamOptions, form } = attempt;
  const { withUsage, isThreaded, withholdsThoughts } = form;
  const { body } = own;
  const refusedBetas = [...candidate.route.quirks.refusedBetas, ...form.refusedBetas];
  const dropped = [...droppedBetas(endpoint, caller, refusedBetas), ...own.dropped];
  const hasThoughts = async () => {
    const without = await ownBody(sent, candidate, { streamOptions, withholdsThoughts: true });
    return without.dropped.length > own.dropped.length;
  };
  if (isStrict(caller)) refuseLosses(missed(call, dropped));
  const headers = upstreamRequestHeaders(endpoint, caller, isTurn && !isThreaded, refusedBetas);
  const again = (changed: Partial<Form>) => preparePassthrough(call, candidate, { ...form, ...changed });
  return {
    request: {
      operation: endpoint.operation,
      method: 'POST',
      // What Google's clients say in it, the channel's path says.
      query: endpoint.protocol === 'gemini' ? '' : queryOf(caller),
      headers,
      body,
    },
    retry: async (refusal) => {
      if (withUsage && refusesUsageOption(refusal)) return again({ withUsage: false });
      // After a change of channels, or of a channel's key.
      if (!withholdsThoughts && refusesThoughts(refusal) && (await hasThoughts()))
        return again({ withholdsThoughts: true });
      const betas = betasRefusedIn(refusal, headers);
      if (betas.length > 0) return again({ refusedBetas: [...form.refusedBetas, ...betas] });
      return isThreaded && refusesThread(refusal) ? again({ isThreaded: false }) : null;
    },
    receive: (reply) => {
      reportDropped(call, endpoint.protocol, dropped);
      const given = givenIds(sent, reply, body);
      if (!isEventStream(reply.headers)) return passWhole(sent, reply, { given, body });
      return sent.request.streamed
        ? passStream(sent, reply, given)
        : passWhole(sent, reply, { given, body, collected: endpoint.protocol });
    },
  };
}

interface PassWholeOptions {
  readonly given: GivenIds | null;
  /** What its upstream was sent. */
  readonly body: Buffer | string;
  /** The protocol of a reply that streams although its caller does not. */
  readonly collected?: TextProtocol;
}

async function passWhole(
  call: TextCall,
  reply: Reply,
  { given, body, collected }: PassWholeOptions,
): Promise<ReplyOutcome> {
  const { endpoint, request, caller, context } = call;
  const { replyFrames } = PROTOCOLS[endpoint.protocol];
  let consumed = NOTHING_KNOWN;
  const onConsumed = (known: Consumed) => {
    consumed = known;
    logConsumed(call, reply, known);
  };
  const isCollected = collected !== undefined;
  const hidesUsage = !showsUsage(request);
  const receive = () =>
    isCollected
      ? collectPassed(collected, reply, {
          answers: request.output.answers,
          collectLarge: (bytes) => collectedLarge(call, { protocol: collected, bytes }),
          onBroken: (part, error) => onConsumed(consumedByPart(call, part, error)),
        })
      : reply.bytes(MAX_REPLY_BYTES);
  const relay = async () => {
    const bytes = await receive();
    if (isForThread(bytes, body))
      return relayLarge(call, reply, { bytes, sent: body, isCollected, hidesUsage, onConsumed });
    return relayJson({
      ...{ reply, bytes, isCollected, caller, context },
      onBody: (whole, parsed) => {
        traceAnswer(context, () => answeredIn(whole));
        onConsumed(consumedByWhole(call, whole, parsed));
        return storeWholeReply(call, reply, { whole, parsed, given }, onConsumed);
      },
      ...(request.streamed && { asStream: (whole) => replyFrames(whole, { hidesUsage }) }),
    });
  };
  const written = await writtenBy(relay());
  const firstByteMs = written.thrown === undefined ? logFirstByte(call, reply) : null;
  return { ...consumed, firstByteMs, ...written };
}

async function passStream(call: TextCall, reply: Reply, given: GivenIds | null): Promise<ReplyOutcome> {
  const { endpoint, request, caller, context, services } = call;
  const reader = PROTOCOLS[endpoint.protocol].createStreamReader({
    hidesUsage: !showsUsage(request),
    answers: request.output.answers,
  });
  /** Characters of an answer that the reader has not seen. */
  let largeLength = 0;
  const ids = repeatedIds(call, reply);
  const onFrame = (frame: Frame) => storeEvent(call, reply, frame, { reader, ids, given });
  const stream = passedStream({
    reader,
    requestId: context.requestId,
    onFrame,
    ...(given !== null && { onDelta: (frame) => given.delta(frame) }),
    namesEvents: endpoint.protocol === 'messages',
    ...(endpoint.operation === 'responses' && {
      onLarge: (frame) =>
        bringsIds('responses', frame)
          ? passLargeEvent(call, reply, frame, { reader, given }).then((end) => {
              largeLength = end?.outputLength ?? largeLength;
              return end;
            })
          : null,
    }),
    explain: explainFor(reply),
    ...(endpoint.operation === 'responses' && {
      onBroken: (frames) =>
        // Whatever its provider may have kept, its caller got this.
        storeLastFrame(frames, async (response) => {
          const own = given && (await given.response(response));
          const shown = { ...response, ...own };
          const amendment = await storeResponse(call, reply.candidate, shown, { isProviders: false });
          return own || amendment ? { ...own, ...amendment } : null;
        }),
    }),
  });
  let firstByteMs: number | null = null;
  let consumed = NOTHING_KNOWN;
  const written = await writtenBy(
    relayStream({
      reply,
      caller,
      context,
      stream,
      before: storesTurn(call, reply, stream),
      status: reply.status,
      headers: streamHeaders(reply, context),
      keepAliveMs: services.keepAliveMs,
      onId: (id) =>
        storeStreamId(call, reply, id, (pending) => {
          consumed = pending;
        }),
      onFirstByte: () => {
        firstByteMs = logFirstByte(call, reply);
      },
      onEnd: () => {
        const { pendingId } = consumed;
        traceAnswer(context, () => reader.answered());
        consumed = consumedByStream(call, reader, pendingId, largeLength);
        if (pendingId !== null && consumed.pendingId === null)
          services.background.forget(pendingId).catch(() => undefined);
        logConsumed(call, reply, consumed);
      },
    }),
  );
  return { ...consumed, firstByteMs, ...written };
}

/** The errors of a provider that does not have the thread, or cannot keep it. */
const NOT_STORED = new Set<string | null>([
  'thread_not_found',
  'thread_already_continued',
  'thread_continue_in_flight',
  'thread_unsupported_request',
]);

/** Whether a channel refused a thread's turn but would accept the whole conversation. */
function refusesThread(refusal: unknown): boolean {
  if (!(refusal instanceof GatewayError) || refusal.options.relay === undefined) return false;
  const error = objectAt(parseObject(refusal.options.relay.body) ?? {}, 'error');
  const details = error && objectAt(error, 'details');
  return details !== null && NOT_STORED.has(textAt(details, 'error_code'));
}
