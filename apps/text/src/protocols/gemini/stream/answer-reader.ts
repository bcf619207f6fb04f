import { endsAnswer } from '@gateway/contracts/finish-words';
import { type GeminiGrounding, type GeminiPart, GeminiReply } from '@gateway/contracts/google/gemini-wire';
import type { OpaquePayload, SealPlace } from '../../../neutral/parts.ts';
import type { Finish } from '../../../neutral/reply/reply.ts';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import type { Target } from '../../../neutral/target.ts';
import { type JsonObject, objectOf } from '../../../wire/json-object.ts';
import type { CleanText } from '../../../wire/public-message.ts';
import { isJsonObject } from '../../../wire/raw-json.ts';
import { readUpstream, upstreamCutOff } from '../../../wire/read-upstream.ts';
import { laterUsage, NO_USAGE, type Usage } from '../../../wire/usage.ts';
import { blockedPrompt, decodeFinish, type Ending } from '../reply/finish-reason.ts';
import { decodeSearch, Supports } from '../reply/grounding.ts';
import { decodeLogprobs } from '../reply/logprobs.ts';
import { readUsage } from '../reply/usage.ts';

type Flow = 'text' | 'reasoning';

/** Parts of tools that Google runs, which it wants back as they came. */
const SERVER_PARTS = ['toolCall', 'toolResponse', 'executableCode', 'codeExecutionResult'] as const;

/** Reads an answer frame by frame: a whole one is a single frame. */
export class AnswerReader {
  readonly #target: Target;
  readonly #clean: CleanText;
  /** The text or the thoughts that are open. */
  #flow: Flow | null = null;
  /** The text that is open, or the last one that was. */
  #text = '';
  /** Bytes of text before it: Google counts its marks over all text. */
  #bytesBefore = 0;
  #calls = 0;
  #hasOutput = false;
  #started = false;
  /** Signatures that wait for the end of the open part. */
  #seals: OpaquePayload[] = [];
  #grounding: GeminiGrounding | null = null;
  /** Those of the grounding, as soon as a text has ended with it. */
  #supports: Supports | null = null;
  #searchIsShown = false;
  #usage: Usage | null = null;
  #ending: Ending | null = null;
  #blocked: Finish | null = null;

  constructor(target: Target, clean: CleanText) {
    this.#target = target;
    this.#clean = clean;
  }

  get isComplete(): boolean {
    return this.#ending !== null || this.#blocked !== null;
  }

  get usage(): Usage | null {
    return this.#usage;
  }

  /** Takes what a frame that is no answer has used. */
  report(frame: JsonObject): void {
    this.#usage = laterUsage(this.#usage, readUsage(frame));
  }

  /** @param exact the same frame with every number as it was written */
  *frame(given: unknown, exact: () => unknown): Generator<StreamEvent> {
    const reply = readUpstream(GeminiReply, given);
    this.report(reply);
    const { promptFeedback } = reply;
    const candidate = reply.candidates?.find(({ index = 0 }) => index === 0);
    if (promptFeedback?.blockReason)
      this.#blocked = blockedPrompt(
        promptFeedback.blockReason,
        promptFeedback.blockReasonMessage,
        this.#clean,
      );
    if (candidate === undefined) return;
    if (candidate.groundingMetadata) yield* this.#begun(this.#grounded(candidate.groundingMetadata));
    const logprobs = candidate.logprobsResult && decodeLogprobs(candidate.logprobsResult);
    const parts = candidate.content?.parts ?? [];
    const firstText = parts.findIndex((part) => part.text && !part.thought && !part.functionCall);
    let exactParts: readonly unknown[] | undefined;
    const exactPart = (index: number): GeminiPart => {
      exactParts ??= partsOf(exact());
      return objectOf(exactParts[index]);
    };
    for (const [index, part] of parts.entries()) {
      const own = index === firstText ? logprobs : undefined;
      yield* this.#begun(this.#part(part, () => exactPart(index), own));
    }
    const { finishReason, finishMessage } = candidate;
    if (
      finishReason !== undefined &&
      finishReason !== 'FINISH_REASON_UNSPECIFIED' &&
      endsAnswer(finishReason)
    )
      this.#ending = { word: finishReason, message: finishMessage };
  }

  /** The source has ended. @throws GatewayError where the answer is none */
  *finish(): Generator<StreamEvent> {
    const seen = { calls: this.#calls > 0, output: this.#hasOutput };
    const finish = this.#ending === null ? this.#blocked : decodeFinish(this.#ending, seen, this.#clean);
    if (finish === null) throw upstreamCutOff();
    yield* this.#begun(this.#rest(finish));
  }

  *#rest(finish: Finish): Generator<StreamEvent> {
    yield* this.#close();
    if (this.#grounding !== null) yield* this.#search(this.#grounding);
    const usage = this.#usage ?? NO_USAGE;
    yield { type: 'finish', finish, usage, serviceTier: usage.serviceTier };
  }

  /** The start comes before the first event that shows something, with what is known then. */
  *#begun(events: Iterable<StreamEvent>): Generator<StreamEvent> {
    for (const event of events) {
      if (!this.#started) {
        this.#started = true;
        yield { type: 'start', usage: this.#usage ?? NO_USAGE, serviceTier: this.#usage?.serviceTier };
      }
      yield event;
    }
  }

  /** A search that is known before there is text is shown before it; most are known at the end only. */
  *#grounded(grounding: GeminiGrounding): Generator<StreamEvent> {
    this.#grounding = grounding;
    this.#supports = null;
    if (this.#text === '' && this.#flow === null) yield* this.#search(grounding);
  }

  *#search(grounding: GeminiGrounding): Generator<StreamEvent> {
    const search = decodeSearch(grounding);
    if (search === null || this.#searchIsShown) return;
    this.#searchIsShown = true;
    yield { type: 'web-search-start' };
    yield { type: 'web-search-end', search };
  }

  *#part(part: GeminiPart, exact: () => GeminiPart, logprobs: object[] | undefined): Generator<StreamEvent> {
    const { text = '', thought = false, thoughtSignature: signature = '', functionCall } = part;
    if (functionCall !== undefined) {
      yield* this.#close(signature === '' ? null : this.#seal(signature, this.#calls));
      yield* this.#call(exact().functionCall ?? functionCall);
    } else if (SERVER_PARTS.some((name) => isJsonObject(part[name]))) {
      yield* this.#close(this.#seal(JSON.stringify(exact()), 'whole'));
    } else if (thought) {
      if (text !== '') yield* this.#delta('reasoning', { type: 'reasoning-delta', text });
      if (signature !== '') this.#seals.push(this.#seal(signature, 'thought'));
    } else {
      if (text !== '') {
        yield* this.#delta('text', { type: 'text-delta', text, ...(logprobs && { logprobs }) });
        this.#text += text;
      }
      if (signature !== '') this.#seals.push(this.#seal(signature, text === '' ? 'end' : 'text'));
    }
  }

  *#call({ id = '', name = '', args }: NonNullable<GeminiPart['functionCall']>): Generator<StreamEvent> {
    this.#calls += 1;
    this.#hasOutput = true;
    yield { type: 'tool-call-start', id, name };
    yield { type: 'tool-call-delta', text: isJsonObject(args) ? JSON.stringify(args) : '{}' };
    yield { type: 'tool-call-end' };
  }

  *#delta(flow: Flow, delta: StreamEvent): Generator<StreamEvent> {
    if (this.#flow !== flow) {
      yield* this.#close();
      this.#flow = flow;
      if (flow === 'text') {
        this.#bytesBefore += Buffer.byteLength(this.#text);
        this.#text = '';
      }
      yield flow === 'text' ? { type: 'text-start' } : { type: 'reasoning-start', form: 'summary' };
    }
    this.#hasOutput = true;
    yield delta;
  }

  /**
   * Ends what is open. A signature travels as reasoning of its own, with the thoughts that are open if there are any.
   *
   * @param next the signature of the part that comes next
   */
  *#close(next: OpaquePayload | null = null): Generator<StreamEvent> {
    const flow = this.#flow;
    this.#flow = null;
    const seals = [...this.#seals.splice(0), ...(next === null ? [] : [next])];
    if (flow === 'text') {
      this.#supports ??= new Supports(this.#grounding ?? {});
      for (const citation of this.#supports.in(this.#text, this.#bytesBefore))
        yield { type: 'text-citation', citation };
      yield { type: 'text-end' };
    } else if (flow === 'reasoning') {
      yield { type: 'reasoning-end', payload: seals.shift() ?? this.#unsealed };
    }
    for (const payload of seals) {
      yield { type: 'reasoning-start', form: 'summary' };
      yield { type: 'reasoning-end', payload };
    }
  }

  #seal(data: string, place: SealPlace): OpaquePayload {
    const { vendor, scope } = this.#target;
    return { vendor, scope, kind: 'signature', data, place };
  }

  /** Of a summary that nothing has to be sent back of. */
  get #unsealed(): OpaquePayload {
    return { vendor: this.#target.vendor, kind: 'trace', data: '' };
  }
}

/** The parts of a frame's first candidate. */
function partsOf(frame: unknown): readonly unknown[] {
  const { candidates } = objectOf(frame);
  const found = Array.isArray(candidates)
    ? candidates.find((one) => (objectOf(one).index ?? 0) === 0)
    : undefined;
  const { parts } = objectOf(objectOf(found).content);
  return Array.isArray(parts) ? parts : [];
}
