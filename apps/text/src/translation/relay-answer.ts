import { boundedJson } from '@gateway/contracts/json/json-depth';
import { isEventStream } from '@gateway/model-service/stream/event-stream';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import type { Candidate } from '@gateway/upstream/candidate';
import { cleanMessage } from '@gateway/upstream/failures/clean-message';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import { logConsumed, logFirstByte } from '../call/accounting/call-log.ts';
import { estimatesFor } from '../call/accounting/metered-call.ts';
import {
  type Consumed,
  consumedOf,
  failedWith,
  failureOf,
  NOTHING_KNOWN,
  type ReplyOutcome,
} from '../call/accounting/outcome.ts';
import { streamHead } from '../call/attempts/reply-head.ts';
import { tokensOf } from '../call/history/conversation-space.ts';
import { keepLastFrame } from '../call/keeping/keep-last-frame.ts';
import { type Amendment, keepResponse, UNKEPT_HEADER } from '../call/keeping/keep-response.ts';
import type { TextCall } from '../call/request/text-call.ts';
import type { AnswerPlan, ReplyContext } from '../conversation/target.ts';
import { StreamCollector } from '../conversion/collect-stream.ts';
import { PROTOCOLS } from '../conversion/protocols.ts';
import { type TranslatedReply, translateReply } from '../conversion/translate-reply.ts';
import { StreamTranslator, streamReply } from '../conversion/translate-stream.ts';
import { knownUsage } from '../metering/consumption.ts';
import { recordedMessage } from '../protocols/messages/reply/message-recorder.ts';
import { MAX_PAUSES, pausedContent } from '../protocols/messages/reply/paused-turn.ts';
import { messageIn, threadStream } from '../threads/thread-stream.ts';
import { answerLength } from '../wire/answer-length.ts';
import { type JsonObject, objectOf } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import { newId } from '../wire/tokens/new-id.ts';
import type { OpaqueTokens } from '../wire/tokens/opaque-token.ts';
import { atTier } from '../wire/usage.ts';
import type { translatedHead } from './headers.ts';
import { KeptStream } from './kept-stream.ts';

/** A reply that is not streamed is held whole; beyond this it is the upstream's failure. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;

/** An upstream's reply, and what it takes to read it. */
interface ReadableAnswer {
  readonly call: TextCall;
  readonly reply: Reply;
  readonly plan: AnswerPlan;
  /** Requests the rest of a paused answer: `content` is what the upstream sent before it paused. */
  readonly goOn: (content: readonly { readonly [member: string]: unknown }[]) => Promise<Reply>;
}

/** The same with what it takes to write it for the caller. */
export interface Answer extends ReadableAnswer {
  readonly head: ReturnType<typeof translatedHead>;
}

/** An upstream's whole answer in the caller's protocol, whether it streamed or not; nothing is written. */
export const readAnswer = (answer: ReadableAnswer): Promise<TranslatedReply> =>
  isEventStream(answer.reply.headers) ? collect(answer) : whole(answer);

/** Writes an upstream's reply as a stream or whole, as the caller requested, whichever the upstream chose. Never rejects. */
export function relayAnswer(answer: Answer): Promise<ReplyOutcome> {
  const { streamed } = answer.call.request;
  if (streamed && isEventStream(answer.reply.headers)) return translateStream(answer);
  const written = streamed ? relayAsStream(answer) : relayWhole(answer, readAnswer(answer));
  return written.catch(failedWith);
}

const contextFor = ({ call, reply }: Pick<Answer, 'call' | 'reply'>) =>
  replyContextOf(reply.candidate, tokensOf(call), call.context.requestId);

async function translateStream(answer: Answer): Promise<ReplyOutcome> {
  const { call, reply, plan, goOn, head } = answer;
  const { response, context, services } = call;
  const translator = new StreamTranslator(plan, contextFor(answer), goOn);
  const stream = keepsResponse(call) ? new KeptStream(translator, keeping(answer)) : translator;
  let firstByteMs: number | null = null;
  let consumed = NOTHING_KNOWN;
  const thrown = await failureOf(
    relayStream({
      reply,
      response,
      context,
      stream: threadStream(call, reply, stream),
      headers: streamHead(head),
      keepAliveMs: services.keepAliveMs,
      onFirstByte: () => {
        firstByteMs = logFirstByte(call, reply);
      },
      onEnd: () => {
        const { usage, outputLength, finish } = translator;
        if (finish?.unknown !== undefined) context.line.unknownFinish = finish.unknown;
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
  return { ...consumed, firstByteMs, thrown };
}

/** The whole answer of an upstream that does not stream, as the events that a streaming caller waits for. */
async function relayAsStream(answer: Answer): Promise<ReplyOutcome> {
  const { call, reply, plan, head } = answer;
  const body = await readBody(reply);
  const frames = streamReply(plan, body, contextFor(answer));
  const consumed = consumedByWhole(answer, translated(answer, body));
  const text = frames.join('');
  await call.thread?.keep(messageIn(text), { request: call.request, candidate: reply.candidate });
  const kept = keepsResponse(call) ? await keepLastFrame(text, keeping(answer)) : text;
  if (!call.response.headersSent) call.response.writeHead(200, streamHead(head));
  const firstByteMs = logFirstByte(call, reply);
  call.response.end(kept);
  return { ...consumed, firstByteMs, thrown: undefined };
}

async function relayWhole(answer: Answer, translating: Promise<TranslatedReply>): Promise<ReplyOutcome> {
  const { call, reply, head } = answer;
  const answered = await translating;
  const consumed = consumedByWhole(answer, answered);
  const message = recordedMessage({ ...answered.body });
  await call.thread?.keep(message, { request: call.request, candidate: reply.candidate });
  const amendment = keepsResponse(call) ? await keeping(answer)({ ...answered.body }) : null;
  const unkept = amendment?.store === false ? UNKEPT_HEADER : {};
  const body = Buffer.from(JSON.stringify({ ...answered.body, ...amendment }));
  call.response.writeHead(200, { ...head, ...unkept, 'content-length': body.length });
  call.response.end(body);
  return { ...consumed, firstByteMs: logFirstByte(call, reply), thrown: undefined };
}

const keepsResponse = ({ endpoint }: TextCall): boolean => endpoint.operation === 'responses';

const keeping =
  ({ call, reply }: Answer) =>
  (response: JsonObject): Promise<Amendment> =>
    keepResponse(call, reply.candidate, response);

async function whole({ reply, plan, goOn, ...answer }: ReadableAnswer): Promise<TranslatedReply> {
  const earlier: unknown[] = [];
  let body = await readBody(reply);
  for (;;) {
    const paused = plan.mayPause && earlier.length < MAX_PAUSES ? pausedContent(body) : null;
    if (paused === null) break;
    earlier.push(body);
    body = await readBody(await goOn(paused));
  }
  return translated({ ...answer, reply, plan }, body, earlier);
}

/** An upstream's whole answer in the caller's protocol, with the tier that decides its price. */
function translated(
  answer: Pick<Answer, 'call' | 'reply' | 'plan'>,
  body: unknown,
  earlier: readonly unknown[] = [],
): TranslatedReply {
  const { plan } = answer;
  const reply = translateReply(plan, body, contextFor(answer), earlier);
  const tier = PROTOCOLS[plan.target.protocol].readUsage(objectOf(body))?.serviceTier;
  return { ...reply, usage: atTier(reply.usage, tier) };
}

/** The stream of an upstream that only streams, for a caller who does not. */
async function collect(answer: ReadableAnswer): Promise<TranslatedReply> {
  const collector = new StreamCollector(answer.plan, contextFor(answer));
  const read = async (reply: Reply) => {
    for await (const chunk of reply.body) {
      collector.push(chunk);
      if (!collector.ended) continue;
      reply.letGo();
      break;
    }
  };
  await read(answer.reply);
  for (let paused = collector.pausedContent; paused !== null; paused = collector.pausedContent) {
    const reply = await answer.goOn(paused);
    collector.resume();
    await read(reply);
  }
  return collector.end();
}

async function readBody(reply: Reply): Promise<unknown> {
  const bytes = await reply.bytes(MAX_REPLY_BYTES);
  try {
    return parseBody(boundedJson(bytes.toString()));
  } catch {
    throw new UnreadableReply('The upstream answered with something that is not JSON.');
  }
}

function consumedByWhole({ call, reply }: Answer, { usage, finish, body }: TranslatedReply): Consumed {
  if (finish.unknown !== undefined) call.context.line.unknownFinish = finish.unknown;
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
