import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '@gateway/upstream/catalog';
import type { Reply } from '@gateway/upstream/reply';
import { noteEstimatedUsage, noteFirstByte, noteLosses, noteUsage } from '../call-notes.ts';
import { type Carrier, unlessRefused } from '../carrier.ts';
import { isEventStream } from '../passthrough/relay-json.ts';
import { StreamCollector } from '../protocols/collect-stream.ts';
import { type Dropped, refuseLosses } from '../protocols/conversation/losses.ts';
import { parseBody } from '../protocols/conversation/raw-json.ts';
import type { Usage } from '../protocols/conversation/reply.ts';
import { keepAliveFrame } from '../protocols/protocols.ts';
import type { AnswerPlan } from '../protocols/target.ts';
import { type TranslatedReply, translateReply } from '../protocols/translate-reply.ts';
import { translateRequest } from '../protocols/translate-request.ts';
import { StreamTranslator, streamReply } from '../protocols/translate-stream.ts';
import type { TextCall } from '../text-call.ts';
import { estimatedUsage } from '../usage.ts';
import { explainRefusal } from './explain-refusal.ts';
import { isStrict } from './is-strict.ts';
import { refuseStateful } from './refuse-stateful.ts';
import { streamHead, translatedHead } from './reply-head.ts';
import { surroundingsOf } from './surroundings.ts';
import { targetOf, textProtocolOf } from './target-of.ts';
import { relayTranslated } from './translated-stream.ts';
import { translatedHeaders } from './upstream-headers.ts';

/** A reply that is not streamed is held whole; beyond this it is the upstream's failure. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;

/** What was asked of an upstream, which its answer is read by. */
interface Asked {
  readonly plan: AnswerPlan;
  readonly dropped: readonly Dropped[];
}

/** Carries a call to a channel of another protocol: the request and the reply are written anew. */
export function createTranslation(call: TextCall): Carrier {
  const { endpoint, message, context, request, model, services } = call;
  const { tokens } = services;
  const caller = endpoint.protocol;
  let asked: Asked | null = null;

  const translate = (candidate: Candidate): string => {
    const body = parseBody(request.bytes.toString());
    if (caller === 'responses') refuseStateful(body);
    const target = targetOf(candidate, model);
    const translated = translateRequest({ caller, body, target, tokens });
    if (isStrict(message)) refuseLosses(translated.dropped);
    asked = { plan: translated.plan, dropped: translated.dropped };
    return JSON.stringify(translated.body);
  };

  return {
    request: (candidate) =>
      unlessRefused(() => ({
        operation: textProtocolOf(candidate),
        method: 'POST',
        headers: translatedHeaders(message.headers, request.streamed),
        translated: true,
        body: translate(candidate),
      })),
    explain: (error, candidate) => explainRefusal(error, caller, textProtocolOf(candidate)),
    relay: async (reply) => {
      if (asked === null) throw new Error('a reply to nothing');
      const { plan, dropped } = asked;
      context.line.upstreamProtocol = plan.target.protocol;
      noteLosses(call, plan.target.protocol, dropped);
      const answer = { call, reply, plan, head: translatedHead(reply, context) };
      const isStream = isEventStream(reply.headers['content-type']);
      if (isStream && request.streamed) await relayStream(answer);
      else if (request.streamed) await relayAsStream(answer);
      else await relayWhole(answer, isStream ? collect(answer) : whole(answer));
    },
  };
}

interface Answer {
  readonly call: TextCall;
  readonly reply: Reply;
  readonly plan: AnswerPlan;
  readonly head: ReturnType<typeof translatedHead>;
}

const around = ({ call, reply }: Answer) => surroundingsOf(reply.candidate, call.services.tokens);

async function relayStream(answer: Answer): Promise<void> {
  const { call, reply, plan, head } = answer;
  const { response, context, services } = call;
  const translator = new StreamTranslator(plan, around(answer));
  try {
    await relayTranslated({
      reply,
      response,
      context,
      translator,
      head: streamHead(head),
      keepAlive: { frame: keepAliveFrame(plan.caller), afterMs: services.keepAliveMs },
      isCut: () => translator.finish?.reason === 'stop-sequence' && plan.undo.stopSequences.length > 0,
      onFirstByte: () => noteFirstByte(call, reply),
    });
  } finally {
    const { usage, outputLength, finish } = translator;
    if (finish?.unknown !== undefined) context.line.unknownFinish = finish.unknown;
    noteTranslatedUsage(answer, { usage, isWhole: finish !== null, outputLength });
  }
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

const whole = async (answer: Answer): Promise<TranslatedReply> =>
  translateReply(answer.plan, await readBody(answer.reply), around(answer));

/** The stream of an upstream that only streams, for a caller who does not. */
async function collect(answer: Answer): Promise<TranslatedReply> {
  const collector = new StreamCollector(answer.plan, around(answer));
  let sizeBytes = 0;
  for await (const chunk of answer.reply.body) {
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_REPLY_BYTES) throw unreadable('The upstream sent more than this gateway takes.');
    collector.push(chunk);
  }
  return collector.end();
}

async function readBody(reply: Reply): Promise<unknown> {
  const bytes = await reply.bytes(MAX_REPLY_BYTES);
  try {
    return parseBody(bytes.toString());
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
