import { isEventStream } from '@gateway/contracts/event-stream/sse-frames';
import { boundedJson } from '@gateway/contracts/json/json-depth';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import { chunksUntilWhole, type Output } from '@gateway/model-service/stream/relayed-stream';
import { LARGE_BODY_BYTES } from '@gateway/service-kit/request/json-body';
import type { Candidate } from '@gateway/upstream/candidate';
import { cleanMessage } from '@gateway/upstream/failures/clean-message';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import { consumedByLost, consumedByPart } from '../call/accounting/broken-answer.ts';
import { logConsumed, logFirstByte } from '../call/accounting/call-log.ts';
import { estimatesFor } from '../call/accounting/metered-call.ts';
import {
  type Consumed,
  consumedOf,
  failedWith,
  NOTHING_KNOWN,
  type ReplyOutcome,
  writtenBy,
} from '../call/accounting/outcome.ts';
import { streamHead } from '../call/attempts/reply-head.ts';
import { MAX_REPLY_BYTES } from '../call/attempts/whole-body.ts';
import { tokensOf } from '../call/history/conversation-space.ts';
import { turnIn } from '../call/request/history.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { storeLastFrame } from '../call/storing/store-last-frame.ts';
import { type Amendment, storeResponse, UNSTORED_HEADER } from '../call/storing/store-response.ts';
import { messageIn, storesTurn } from '../call/storing/store-turn.ts';
import { StreamCollector } from '../conversion/collect-stream.ts';
import { type TranslatedReply, translateReply } from '../conversion/translate-reply.ts';
import { StreamTranslator, streamReply } from '../conversion/translate-stream.ts';
import { isLarge } from '../large/shared-bytes.ts';
import { traceAnswer } from '../metering/call-trace.ts';
import { knownUsage } from '../metering/consumption.ts';
import type { Finish } from '../neutral/reply/reply.ts';
import type { AnswerPlan, ReplyContext } from '../neutral/target.ts';
import { recordedMessage } from '../protocols/messages/reply/message-recorder.ts';
import { MAX_PAUSES, pausedContent } from '../protocols/messages/reply/paused-turn.ts';
import { UPSTREAMS } from '../protocols/protocols.ts';
import { answerLength } from '../wire/answer-length.ts';
import { answeredIn } from '../wire/answered-in.ts';
import { type JsonObject, objectOf } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import { newId } from '../wire/tokens/new-id.ts';
import type { OpaqueTokens } from '../wire/tokens/opaque-token.ts';
import { addUsage, atTier } from '../wire/usage.ts';
import type { translatedHead } from './headers.ts';
import { type LargeAnswer, relayLargeAnswer } from './relay-large-answer.ts';

/** An upstream's reply, and what it takes to read it. */
interface ReadableAnswer {
  readonly call: TextCall;
  readonly reply: Reply;
  readonly plan: AnswerPlan;
  /** Requests the rest of a paused answer: `content` is what the upstream sent before it paused. Null: it is cut there. */
  readonly goOn: (content: readonly { readonly [member: string]: unknown }[]) => Promise<Reply | null>;
}

/** The same with what it takes to write it for the caller. */
export interface Answer extends ReadableAnswer {
  readonly head: ReturnType<typeof translatedHead>;
}

export type OnConsumed = (consumed: Consumed) => void;

/**
 * An upstream's whole answer in the caller's protocol, whether it streamed or not; nothing is written.
 *
 * @param onConsumed called where it is none, with what it has used all the same
 */
export async function readAnswer(
  answer: ReadableAnswer,
  onConsumed: OnConsumed = () => undefined,
): Promise<TranslatedReply> {
  if (isEventStream(answer.reply.headers)) return collect(answer, onConsumed, (collector) => collector.end());
  const answered = await whole(answer, onConsumed);
  return 'earlier' in answered
    ? translated(answer, parsedBody(answered.bytes), answered.earlier.map(parsedBody))
    : answered;
}

const answerOf = (answer: ReadableAnswer, onConsumed: OnConsumed): Promise<TranslatedReply | LargeAnswer> =>
  isEventStream(answer.reply.headers) ? collect(answer, onConsumed, endOrLarge) : whole(answer, onConsumed);

function endOrLarge(collector: StreamCollector): TranslatedReply | LargeAnswer {
  const ended = collector.endOrLarge();
  if (!isStreams(ended)) return ended;
  return { bytes: ended.at(-1) ?? Buffer.alloc(0), earlier: ended.slice(0, -1), isStream: true };
}

const isStreams = (ended: TranslatedReply | readonly Buffer[]): ended is readonly Buffer[] =>
  Array.isArray(ended);

/** Brings an upstream's reply as a stream or whole, as the caller requested, whichever the upstream chose. Never rejects. */
export function relayAnswer(answer: Answer): Promise<ReplyOutcome> {
  const { streamed } = answer.call.request;
  if (streamed && isEventStream(answer.reply.headers)) return translateStream(answer);
  return relayed((onConsumed) =>
    streamed ? relayAsStream(answer, onConsumed) : relayWhole(answer, onConsumed),
  );
}

/** What writes an answer, and when that began. */
type Written = Pick<ReplyOutcome, 'firstByteMs' | 'end'>;

/** What writing an answer came to: what it has consumed counts, also where it could not be written. */
async function relayed(write: (onConsumed: OnConsumed) => Promise<Written>): Promise<ReplyOutcome> {
  let consumed = NOTHING_KNOWN;
  const onConsumed: OnConsumed = (known) => {
    consumed = known;
  };
  try {
    return { ...(await write(onConsumed)), ...consumed, thrown: undefined };
  } catch (thrown) {
    return { ...failedWith(thrown), ...consumed };
  }
}

const contextFor = ({ call, reply }: Pick<Answer, 'call' | 'reply'>) =>
  replyContextOf(reply.candidate, tokensOf(call), call.context.requestId);

async function translateStream(answer: Answer): Promise<ReplyOutcome> {
  const { call, reply, plan, goOn, head } = answer;
  const { caller, context, services } = call;
  const translator = new StreamTranslator(plan, contextFor(answer), goOn);
  let firstByteMs: number | null = null;
  let consumed = NOTHING_KNOWN;
  const written = await writtenBy(
    relayStream({
      reply,
      caller,
      context,
      stream: translator,
      before: isStorable(call) ? storesLast(answer) : storesTurn(call, reply, translator),
      headers: streamHead(head),
      keepAliveMs: services.keepAliveMs,
      onFirstByte: () => {
        firstByteMs = logFirstByte(call, reply);
      },
      onEnd: () => {
        const { usage, outputLength, finish, model } = translator;
        if (finish?.unknown !== undefined) context.line.unknownFinish = finish.unknown;
        traceAnswer(context, () => ({ model, ends: finish === null ? [] : [endOf(finish)] }));
        consumed = consumedOf(
          knownUsage(
            usage,
            finish !== null,
            estimatesFor(call, () => outputLength),
          ),
        );
        logConsumed(call, reply, consumed);
      },
    }),
  );
  return { ...consumed, firstByteMs, ...written };
}

/** The whole answer of an upstream that does not stream, as the events that a streaming caller waits for. */
async function relayAsStream(answer: Answer, onConsumed: OnConsumed): Promise<Written> {
  const { call, reply, plan, head } = answer;
  const bytes = await reply.bytes(MAX_REPLY_BYTES);
  if (isLarge(bytes.length))
    return relayLargeAnswer(answer, { bytes, earlier: [], isStream: false }, onConsumed);
  const body = parsedBody(bytes);
  const frames = understood(answer, [body], onConsumed, () => {
    const all = streamReply(plan, body, contextFor(answer));
    onConsumed(consumedByWhole(answer, translated(answer, body)));
    return all;
  });
  await turnIn(call.history)?.store(messageIn(frames), { request: call.request, candidate: reply.candidate });
  const stored = isStorable(call) ? await storeLastFrame(frames, storing(answer)) : frames;
  const end = () => {
    call.caller.begin(200, streamHead(head));
    call.caller.end(stored);
  };
  return { firstByteMs: logFirstByte(call, reply), end };
}

async function relayWhole(answer: Answer, onConsumed: OnConsumed): Promise<Written> {
  const { call, reply, head } = answer;
  const answered = await answerOf(answer, onConsumed);
  if ('earlier' in answered) return relayLargeAnswer(answer, answered, onConsumed);
  onConsumed(consumedByWhole(answer, answered));
  const message = recordedMessage({ ...answered.body });
  await turnIn(call.history)?.store(message, { request: call.request, candidate: reply.candidate });
  const amendment = isStorable(call) ? await storing(answer)({ ...answered.body }) : null;
  const unstored = amendment?.store === false ? UNSTORED_HEADER : {};
  const body = Buffer.from(JSON.stringify({ ...answered.body, ...amendment }));
  const end = () => {
    call.caller.begin(200, { ...head, ...unstored, 'content-length': body.length });
    call.caller.end(body);
  };
  return { firstByteMs: logFirstByte(call, reply), end };
}

const isStorable = ({ endpoint }: TextCall): boolean => endpoint.operation === 'responses';

const storing =
  ({ call, reply }: Answer) =>
  (response: JsonObject): Promise<Amendment> =>
    storeResponse(call, reply.candidate, response);

const storesLast = (answer: Answer) => (output: Output, isLast: boolean) =>
  isLast && Array.isArray(output) ? storeLastFrame(output, storing(answer)) : output;

/** The whole answer, also where it has come in several replies with pauses between them; a large one is left as it came. */
async function whole(answer: ReadableAnswer, onConsumed: OnConsumed): Promise<TranslatedReply | LargeAnswer> {
  const { reply, plan, goOn } = answer;
  const earlier: { readonly bytes: Buffer; readonly body: unknown }[] = [];
  let bytes = await reply.bytes(MAX_REPLY_BYTES);
  for (;;) {
    if (isLarge(bytes.length)) return { bytes, earlier: earlier.map((one) => one.bytes), isStream: false };
    const body = parsedBody(bytes);
    const before = earlier.map((one) => one.body);
    const paused = plan.mayPause && earlier.length < MAX_PAUSES ? pausedContent(body) : null;
    try {
      const next = paused === null ? null : await goOn(paused);
      if (next === null)
        return understood(answer, [...before, body], onConsumed, () => translated(answer, body, before));
      earlier.push({ bytes, body });
      bytes = await next.bytes(MAX_REPLY_BYTES);
    } catch (error) {
      onConsumed(consumedByReplies(answer, [...before, body], error));
      throw error;
    }
  }
}

/** Whole replies that turn out to be no answer have used what they report all the same. */
function understood<Understood>(
  answer: ReadableAnswer,
  bodies: readonly unknown[],
  onConsumed: OnConsumed,
  understand: () => Understood,
): Understood {
  try {
    return understand();
  } catch (error) {
    onConsumed(consumedByReplies(answer, bodies, error));
    throw error;
  }
}

/** What whole replies have used that their caller does not get. */
function consumedByReplies(
  { call, reply, plan }: ReadableAnswer,
  bodies: readonly unknown[],
  error: unknown,
): Consumed {
  const { readUsage } = UPSTREAMS[plan.target.protocol];
  const replies = bodies.map(objectOf);
  const usages = replies.flatMap((one) => readUsage(one) ?? []);
  const usage = usages.length === 0 ? null : usages.reduce(addUsage);
  const outputLength = replies.reduce((sum, one) => sum + answerLength(one), 0);
  const consumed = consumedByLost(call, { usage, outputLength }, error);
  logConsumed(call, reply, consumed);
  return consumed;
}

/** An upstream's whole answer in the caller's protocol, with the tier that decides its price. */
function translated(
  answer: Pick<Answer, 'call' | 'reply' | 'plan'>,
  body: unknown,
  earlier: readonly unknown[] = [],
): TranslatedReply {
  const { plan } = answer;
  const reply = translateReply(plan, body, contextFor(answer), earlier);
  const tier = UPSTREAMS[plan.target.protocol].readUsage(objectOf(body))?.serviceTier;
  traceAnswer(answer.call.context, () => ({ ...answeredIn(objectOf(body)), ends: [] }));
  return { ...reply, usage: atTier(reply.usage, tier) };
}

/** The stream of an upstream that only streams, for a caller who does not. */
async function collect<Ended>(
  answer: ReadableAnswer,
  onConsumed: OnConsumed,
  end: (collector: StreamCollector) => Ended,
): Promise<Ended> {
  const collector = new StreamCollector(answer.plan, contextFor(answer), LARGE_BODY_BYTES);
  const read = async (reply: Reply) => {
    for await (const chunk of chunksUntilWhole(reply, () => collector.rest)) collector.push(chunk);
  };
  let isPaused = false;
  try {
    await read(answer.reply);
    for (let paused = collector.pausedContent; paused !== null; paused = collector.pausedContent) {
      isPaused = true;
      const reply = await answer.goOn(paused);
      isPaused = false;
      if (reply === null) break;
      collector.resume();
      await read(reply);
    }
    traceAnswer(answer.call.context, () => ({ model: collector.model, ends: [] }));
    return end(collector);
  } catch (error) {
    const consumed = (isPaused ? consumedByLost : consumedByPart)(answer.call, collector, error);
    logConsumed(answer.call, answer.reply, consumed);
    onConsumed(consumed);
    throw error;
  }
}

function parsedBody(bytes: Buffer): unknown {
  try {
    return parseBody(boundedJson(bytes.toString()));
  } catch {
    throw new UnreadableReply('The upstream answered with something that is not JSON.');
  }
}

const endOf = ({ reason, unknown }: Finish): string => unknown ?? reason;

function consumedByWhole({ call, reply }: Answer, { usage, finish, body }: TranslatedReply): Consumed {
  if (finish.unknown !== undefined) call.context.line.unknownFinish = finish.unknown;
  traceAnswer(call.context, () => ({ model: null, ends: [endOf(finish)] }));
  const estimates = estimatesFor(call, () => answerLength({ ...body }));
  const consumed = consumedOf(knownUsage(usage, true, estimates));
  logConsumed(call, reply, consumed);
  return consumed;
}

const MS_PER_SECOND = 1000;

/** Randomness, time and secrets for the answer of one candidate. */
export const replyContextOf = (
  candidate: Candidate,
  tokens: OpaqueTokens,
  requestId: string,
): ReplyContext => ({
  requestId,
  mintId: newId,
  nowSeconds: () => Math.floor(Date.now() / MS_PER_SECOND),
  tokens,
  cleanText: (text) => cleanMessage(text, candidate),
});
