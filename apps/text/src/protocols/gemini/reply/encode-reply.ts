import { CallIds } from '../../../neutral/encoding/call-ids.ts';
import { sealPayload } from '../../../neutral/encoding/sealed-reasoning.ts';
import type { OpaquePayload, WebSearchPart } from '../../../neutral/parts.ts';
import { type Finish, REFUSAL_TEXT, type Reply } from '../../../neutral/reply/reply.ts';
import { replyEvents } from '../../../neutral/reply/reply-events.ts';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import type { AnswerContext } from '../../../neutral/target.ts';
import { isObject, type JsonObject, objectOf } from '../../../wire/json-object.ts';
import { parseArguments } from '../../../wire/raw-json.ts';
import { signatureOf } from '../../../wire/tokens/signature-token.ts';
import type { Usage } from '../../../wire/usage.ts';
import { GroundingWriter } from './write-grounding.ts';

type Part = JsonObject;

/** A finished answer as a `GenerateContentResponse`. */
export function encodeGeminiReply(reply: Reply, context: AnswerContext): object {
  const writer = new ReplyWriter(context);
  const parts: Part[] = [];
  let end: JsonObject = {};
  for (const event of replyEvents(reply)) {
    if (event.type === 'finish') end = writer.end(event);
    else for (const part of writer.parts(event)) parts.push(part);
  }
  return writer.response(joined(parts), end);
}

/** Neighbouring pieces of one text are one part. */
function joined(parts: readonly Part[]): Part[] {
  const out: Part[] = [];
  for (const part of parts) {
    const last = out.at(-1);
    const isSame =
      last !== undefined &&
      typeof last.text === 'string' &&
      typeof part.text === 'string' &&
      part.thoughtSignature === undefined &&
      last.thought === part.thought;
    if (isSame) out[out.length - 1] = { ...last, text: `${last.text}${part.text}` };
    else out.push(part);
  }
  return out;
}

/** Writes one answer, as a whole or frame by frame: the parts of each event, and the members of its end. */
export class ReplyWriter {
  readonly #context: AnswerContext;
  readonly #callIds: CallIds;
  readonly #head: JsonObject;
  readonly #grounding = new GroundingWriter();
  readonly #showsThoughts: boolean;
  #texts: string[] = [];
  /** Sealed reasoning, until the part that it is signed on. */
  #seals: string[] = [];
  #call: { id: string; name: string } = { id: '', name: '' };
  #arguments = '';
  #hasOutput = false;
  #logprobs: unknown[] = [];

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#showsThoughts = context.plan.hidesThoughts !== true;
    this.#callIds = new CallIds(() => context.mintId('call_'), context.plan.usedCallIds);
    this.#head = { modelVersion: context.plan.model, responseId: context.replyId ?? context.mintId('rsp_') };
  }

  /** One response with these parts. */
  response(parts: readonly Part[], { usageMetadata, ...ending }: JsonObject = {}): JsonObject {
    const candidate = { content: { parts, role: 'model' }, ...ending, index: 0 };
    return { candidates: [candidate], ...(usageMetadata !== undefined && { usageMetadata }), ...this.#head };
  }

  parts(event: StreamEvent): Part[] {
    switch (event.type) {
      case 'text-start':
        this.#grounding.beginText();
        return [];
      case 'text-delta':
        this.#logprobs.push(...(event.logprobs ?? []));
        this.#grounding.addText(event.text);
        return this.#shown({ text: event.text });
      case 'text-citation':
        this.#grounding.cite(event.citation);
        return [];
      case 'refusal-delta':
        return this.#shown({ text: event.text });
      case 'reasoning-start':
        this.#texts = [''];
        return [];
      case 'reasoning-break':
        this.#texts.push('');
        return this.#thought('\n\n');
      case 'reasoning-delta':
        this.#texts.push((this.#texts.pop() ?? '') + event.text);
        return this.#thought(event.text);
      case 'reasoning-end':
        this.#seal(event.payload);
        return [];
      case 'tool-call-start':
        this.#call = { id: this.#callIds.take(event.id), name: event.name };
        this.#arguments = '';
        return [];
      case 'tool-call-delta':
        this.#arguments += event.text;
        return [];
      case 'tool-call-end':
        return this.#shown({ functionCall: { ...this.#call, args: parseArguments(this.#arguments) ?? {} } });
      case 'web-search-end':
        this.#search(event.search);
        return [];
      default:
        return [];
    }
  }

  /** The members of the last response, and what has to be said before it. */
  end({ finish, usage }: StreamEvent & { type: 'finish' }): JsonObject {
    const groundingMetadata = this.#grounding.metadata();
    const message =
      finish.reason === 'refusal' && !this.#hasOutput ? explanationOf(finish) : finish.explanation;
    return {
      finishReason: FINISH_REASONS[finish.reason],
      ...(message !== undefined && { finishMessage: message }),
      ...(groundingMetadata !== null && { groundingMetadata }),
      ...(this.#logprobs.length > 0 && { logprobsResult: logprobsOf(this.#logprobs) }),
      usageMetadata: encodeUsage(usage),
    };
  }

  /** Seals that no part came after: an empty text has them, as Google's own do. */
  rest(): Part[] {
    return this.#seals.splice(0).map((thoughtSignature) => ({ text: '', thoughtSignature }));
  }

  #shown(part: Part): Part[] {
    this.#hasOutput = true;
    const [first, ...more] = this.#seals.splice(0);
    if (first === undefined) return [part];
    const others = more.map((thoughtSignature) => ({ text: '', thoughtSignature }));
    return [...others, { ...part, thoughtSignature: first }];
  }

  #thought(text: string): Part[] {
    return this.#showsThoughts ? [{ text, thought: true }] : [];
  }

  /** Clients leave thoughts away, and send signatures of other parts back: what is to come back is all in them. */
  #seal(payload: OpaquePayload | undefined): void {
    if (payload === undefined) return;
    const texts = this.#texts.filter((text) => text !== '');
    this.#seals.push(signatureOf(sealPayload(this.#context.tokens, payload, texts)));
  }

  #search(search: WebSearchPart): void {
    this.#hasOutput = true;
    this.#grounding.search(search);
  }
}

const FINISH_REASONS: Readonly<Record<Finish['reason'], string>> = {
  stop: 'STOP',
  'stop-sequence': 'STOP',
  // There is no word for calls.
  'tool-calls': 'STOP',
  length: 'MAX_TOKENS',
  'context-length': 'MAX_TOKENS',
  refusal: 'SAFETY',
  pause: 'STOP',
  compaction: 'STOP',
};

const explanationOf = ({ explanation = REFUSAL_TEXT }: Finish): string => explanation;

/** Input includes what was cached; thoughts are beside the output. */
export const encodeUsage = (usage: Usage): JsonObject => ({
  promptTokenCount: usage.inputTokens,
  ...(usage.cachedInputTokens > 0 && { cachedContentTokenCount: usage.cachedInputTokens }),
  candidatesTokenCount: usage.outputTokens - usage.reasoningTokens,
  ...(usage.reasoningTokens > 0 && { thoughtsTokenCount: usage.reasoningTokens }),
  totalTokenCount: usage.inputTokens + usage.outputTokens,
});

const logprobsOf = (entries: readonly unknown[]): JsonObject => {
  const known = entries.filter(isObject);
  return {
    chosenCandidates: known.map(logprobOf),
    topCandidates: known.map(({ top_logprobs: top }) => ({
      candidates: (Array.isArray(top) ? top : []).map((one) => logprobOf(objectOf(one))),
    })),
  };
};

const logprobOf = ({ token, logprob }: JsonObject): JsonObject => ({ token, logProbability: logprob });
