import { GatewayError } from '@gateway/contracts/gateway-error';
import { boundedJson } from '@gateway/contracts/json-depth';
import { isEventStream } from '@gateway/model-service/stream/is-event-stream';
import { relayStream } from '@gateway/model-service/stream/relay-stream';
import type { Reply } from '@gateway/upstream/reply';
import { noteEstimatedUsage, noteFirstByte, noteUsage } from '../call/call-notes.ts';
import type { TextCall } from '../call/text-call.ts';
import type { AnswerPlan } from '../conversation/target.ts';
import { StreamCollector } from '../conversion/collect-stream.ts';
import { type TranslatedReply, translateReply } from '../conversion/translate-reply.ts';
import { StreamTranslator, streamReply } from '../conversion/translate-stream.ts';
import { estimatedUsage } from '../metering/estimate.ts';
import { PAUSES_MAX, pausedContent } from '../protocols/messages/paused-turn.ts';
import { parseBody } from '../wire/raw-json.ts';
import type { Usage } from '../wire/usage.ts';
import { streamHead, type translatedHead } from './reply-head.ts';
import { surroundingsOf } from './surroundings.ts';

/** A reply that is not streamed is held whole; beyond this it is the upstream's failure. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;

/** An upstream's reply, and what it takes to write it in the caller's protocol. */
export interface Answer {
  readonly call: TextCall;
  readonly reply: Reply;
  readonly plan: AnswerPlan;
  /** Asks the upstream to go on behind what it said before it paused. */
  readonly goOn: (content: readonly { readonly [member: string]: unknown }[]) => Promise<Reply>;
  readonly head: ReturnType<typeof translatedHead>;
}

/**
 * Writes an upstream's reply in the manner that the caller asked for, whichever the upstream chose.
 * @throws {GatewayError} where it cannot be used; nothing has been sent then
 */
export function relayAnswer(answer: Answer): Promise<void> {
  const isStream = isEventStream(answer.reply.headers);
  if (!answer.call.request.streamed) return relayWhole(answer, isStream ? collect(answer) : whole(answer));
  return isStream ? translateStream(answer) : relayAsStream(answer);
}

const around = ({ call, reply }: Pick<Answer, 'call' | 'reply'>) =>
  surroundingsOf(reply.candidate, call.services.tokens, call.context.requestId);

async function translateStream(answer: Answer): Promise<void> {
  const { call, reply, plan, goOn, head } = answer;
  const { response, context, services } = call;
  const translator = new StreamTranslator(plan, around(answer), goOn);
  await relayStream({
    reply,
    response,
    context,
    stream: translator,
    headers: streamHead(head),
    keepAliveMs: services.keepAliveMs,
    onFirstByte: () => noteFirstByte(call, reply),
    onEnd: () => {
      const { usage, outputLength, finish } = translator;
      if (finish?.unknown !== undefined) context.line.unknownFinish = finish.unknown;
      noteTranslatedUsage(answer, { usage, isWhole: finish !== null, outputLength });
    },
  });
}

/** The whole answer of an upstream that does not stream, as the events that a streaming caller waits for. */
async function relayAsStream(answer: Answer): Promise<void> {
  const { call, reply, plan, head } = answer;
  const body = await readBody(reply);
  const frames = streamReply(plan, body, around(answer));
  noteWhole(answer, translateReply(plan, body, around(answer)));
  call.response.writeHead(200, streamHead(head));
  noteFirstByte(call, reply);
  call.response.end(frames.join(''));
}

async function relayWhole(answer: Answer, translating: Promise<TranslatedReply>): Promise<void> {
  const { call, reply, head } = answer;
  const translated = await translating;
  noteWhole(answer, translated);
  const body = Buffer.from(JSON.stringify(translated.body));
  call.response.writeHead(200, { ...head, 'content-length': body.length });
  call.response.end(body);
  noteFirstByte(call, reply);
}

async function whole({ reply, plan, goOn, ...answer }: Answer): Promise<TranslatedReply> {
  const earlier: unknown[] = [];
  let body = await readBody(reply);
  for (;;) {
    const paused = plan.mayPause && earlier.length < PAUSES_MAX ? pausedContent(body) : null;
    if (paused === null) break;
    earlier.push(body);
    body = await readBody(await goOn(paused));
  }
  return translateReply(plan, body, around({ ...answer, reply }), earlier);
}

/** The stream of an upstream that only streams, for a caller who does not. */
async function collect(answer: Answer): Promise<TranslatedReply> {
  const collector = new StreamCollector(answer.plan, around(answer));
  const read = async (reply: Reply) => {
    for await (const chunk of reply.body) collector.push(chunk);
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
    throw unreadable('The upstream answered with something that is not JSON.');
  }
}

const unreadable = (message: string) => new GatewayError('upstream_failed', { message, source: 'upstream' });

function noteWhole(answer: Answer, { usage, finish, body }: TranslatedReply): void {
  const { context } = answer.call;
  if (finish.unknown !== undefined) context.line.unknownFinish = finish.unknown;
  const outputLength = usage.reported ? 0 : JSON.stringify(body).length;
  noteTranslatedUsage(answer, { usage, isWhole: true, outputLength });
}

/** The upstream's own numbers; an estimate from sizes, marked as one, where it gave none or broke off. */
function noteTranslatedUsage(
  { call, reply }: Answer,
  { usage, isWhole, outputLength }: { usage: Usage; isWhole: boolean; outputLength: number },
): void {
  if (usage.reported && isWhole) {
    noteUsage(call, reply, usage);
    return;
  }
  const lengths = { inputLength: call.request.bytes.length, outputLength };
  noteEstimatedUsage(call, reply, estimatedUsage(usage.reported ? usage : null, lengths));
}
