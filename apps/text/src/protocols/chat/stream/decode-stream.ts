import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { endsAnswer } from '@gateway/contracts/finish-words';
import { lookUp } from '@gateway/contracts/look-up';
import { ChatChunk, type ChatOutput } from '@gateway/contracts/openai/chat-wire';
import { reportsFailure } from '@gateway/upstream/first-output/reported-error';
import type { Citation } from '../../../neutral/parts.ts';
import { PartSequence } from '../../../neutral/reply/part-sequence.ts';
import type { Finish } from '../../../neutral/reply/reply.ts';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import { isCut } from '../../../neutral/reply/whole-arguments.ts';
import type { Target } from '../../../neutral/target.ts';
import { isObject, type JsonObject, objectOf, textAt } from '../../../wire/json-object.ts';
import { decodeFailure } from '../../../wire/openai-errors.ts';
import { parseExactly } from '../../../wire/raw-json.ts';
import { readUpstream, upstreamCutOff } from '../../../wire/read-upstream.ts';
import type { StreamStep } from '../../../wire/stream/step.ts';
import { NO_USAGE, type Usage } from '../../../wire/usage.ts';
import { decodeAnnotation } from '../reply/annotations.ts';
import { decodeFinish } from '../reply/finish-reason.ts';
import { callsOf, contentPieces, exactCalls, reasoningOf } from '../reply/output.ts';
import { withSpokenChoices } from '../reply/spoken-choices.ts';
import { ThinkTags, type ThoughtPiece, type UntaggedHead } from '../reply/think-tags.ts';
import { createUsageReport, isUsageChunk } from '../reply/usage.ts';
import { CallStream } from './call-stream.ts';
import { WholeMessages } from './whole-messages.ts';

type Kind = 'text' | 'refusal' | 'reasoning';

const isFirst = ({ index }: { readonly index?: number | undefined }): boolean => (index ?? 0) === 0;

const UNTAGGED: Readonly<Record<string, UntaggedHead>> = { opened: 'thought', written: 'text' };

const tagsFor = (setting: Target['quirks']['thinkTags']): ThinkTags | null =>
  setting === false ? null : new ThinkTags(lookUp(UNTAGGED, String(setting)) ?? 'unknown');

/** A Chat Completions stream from an upstream, as neutral events, with all that servers of its kind do differently. */
export class ChatStreamDecoder implements StreamStep<string, StreamEvent> {
  readonly #target: Target;
  readonly #clean: (text: string) => string;
  readonly #parts = new PartSequence();
  readonly #calls = new CallStream(this.#parts);
  readonly #tags: ThinkTags | null;
  /** The text, refusal or reasoning that is open, with a key of its own. */
  #flow: { readonly kind: Kind; readonly key: string } | null = null;
  #flows = 0;
  #citations: Citation[] = [];
  readonly #said = new Set<Kind>();
  #started = false;
  #ended = false;
  #finishWord: string | null = null;
  readonly #messages = new WholeMessages();
  readonly #report = createUsageReport();
  #tier: string | undefined;
  model: string | null = null;

  constructor(target: Target, clean: (text: string) => string) {
    this.#target = target;
    this.#clean = clean;
    this.#tags = tagsFor(target.quirks.thinkTags);
  }

  *event(data: string): Generator<StreamEvent> {
    if (this.#ended) return;
    if (data.trim() === END_MARK) {
      if (this.#started) yield* this.#finish();
      return;
    }
    const parsed: unknown = JSON.parse(data);
    const chunk = readUpstream(ChatChunk, isObject(parsed) ? this.#spoken(parsed) : parsed);
    this.model ??= textAt(objectOf(parsed), 'model');
    if (chunk.service_tier) this.#tier = chunk.service_tier;
    this.#report.add(chunk);
    const choice = chunk.choices?.find(isFirst);
    if (reportsFailure(parsed)) {
      // What came with the failure is output too, where the caller has seen some.
      if (choice?.delta && this.#started) yield* this.#output(choice.delta, () => choice.delta, undefined);
      this.#ended = true;
      const error = decodeFailure(data, this.#clean);
      yield { type: 'error', error, usage: this.#report.usage ?? NO_USAGE };
      return;
    }
    if (choice === undefined) {
      if (this.isComplete && isUsageChunk(chunk)) yield* this.#finish();
      return;
    }
    if (!this.#started) {
      this.#started = true;
      yield { type: 'start', usage: NO_USAGE, serviceTier: this.#tier };
    }
    const exact = () => readUpstream(ChatChunk, parseExactly(data)).choices?.find(isFirst);
    const logprobs = choice.logprobs?.content ?? undefined;
    if (choice.delta) yield* this.#output(choice.delta, () => exact()?.delta ?? exact()?.message, logprobs);
    if (choice.message)
      yield* this.#output(this.#notInDeltas(choice.message), () => exact()?.message, logprobs);
    if (choice.finish_reason && endsAnswer(choice.finish_reason)) {
      this.#finishWord = choice.finish_reason;
      yield* this.#closeAll();
    }
  }

  #spoken(parsed: JsonObject): JsonObject {
    const chunk = withSpokenChoices(parsed, 'delta');
    this.#messages.note(chunk);
    return this.#messages.asDeltas(chunk);
  }

  *end(): Generator<StreamEvent> {
    if (this.#ended) return;
    if (this.isComplete) yield* this.#finish();
    else {
      this.#ended = true;
      yield { type: 'error', error: upstreamCutOff(), usage: this.#report.usage ?? NO_USAGE };
    }
  }

  get #decodedFinish(): Finish {
    return decodeFinish(this.#finishWord, { calls: this.#calls.any, refusal: this.#said.has('refusal') });
  }

  get isComplete(): boolean {
    return this.#finishWord !== null;
  }

  get reported(): Usage | null {
    return this.#report.usageAtTier;
  }

  get awaitsUsage(): boolean {
    return this.#report.usage === null;
  }

  *#finish(): Generator<StreamEvent> {
    yield* this.#closeAll();
    this.#ended = true;
    yield {
      type: 'finish',
      finish: this.#decodedFinish,
      usage: this.#report.usage ?? NO_USAGE,
      serviceTier: this.#tier,
    };
  }

  /** What a whole message has that no delta had: servers send it instead of deltas, or beside the last one. */
  #notInDeltas({
    content,
    refusal,
    tool_calls,
    function_call,
    annotations,
    ...reasoning
  }: ChatOutput): ChatOutput {
    const said = this.#said;
    return {
      ...(!said.has('reasoning') && reasoning),
      ...(!said.has('text') && { content, annotations }),
      ...(!said.has('refusal') && { refusal }),
      ...(!this.#calls.any && {
        tool_calls: tool_calls?.map((call, index) => ({ index, ...call })),
        function_call,
      }),
    };
  }

  *#output(
    delta: ChatOutput,
    exact: () => ChatOutput | null | undefined,
    logprobs: unknown[] | undefined,
  ): Generator<StreamEvent> {
    const reasoning = reasoningOf(delta, this.#target.quirks);
    if (reasoning !== '') {
      yield* this.#pieces(this.#tags?.settle());
      yield* this.#emit('reasoning', { type: 'reasoning-delta', text: reasoning });
    }
    yield* this.#content(delta.content, logprobs);
    for (const annotation of delta.annotations ?? []) {
      const citation = decodeAnnotation(annotation);
      if (citation !== null) this.#citations.push(citation);
    }
    if (delta.refusal) {
      yield* this.#emit('refusal', { type: 'refusal-delta', text: delta.refusal });
    }
    const calls = exactCalls(callsOf(delta), () => callsOf(exact() ?? {}));
    if (calls.length > 0) yield* this.#pieces(this.#tags?.settle());
    for (const fragment of calls) {
      yield* this.#closeFlow();
      yield* this.#calls.add(fragment);
    }
  }

  *#content(content: ChatOutput['content'], logprobs: unknown[] | undefined): Generator<StreamEvent> {
    // Text that is taken apart no longer matches its log probabilities.
    const isWhole = typeof content === 'string' && this.#tags === null;
    const extra = isWhole && logprobs?.length ? { logprobs } : {};
    yield* this.#pieces(contentPieces(content, this.#tags), extra);
  }

  *#pieces(pieces: readonly ThoughtPiece[] = [], extra: object = {}): Generator<StreamEvent> {
    for (const { kind, text } of pieces) yield* this.#piece(kind, text, extra);
  }

  #piece(kind: 'text' | 'reasoning', text: string, extra: object): Iterable<StreamEvent> {
    return this.#emit(
      kind,
      kind === 'text' ? { type: 'text-delta', text, ...extra } : { type: 'reasoning-delta', text },
    );
  }

  *#emit(kind: Kind, delta: StreamEvent): Generator<StreamEvent> {
    if (this.#flow?.kind !== kind) {
      this.#said.add(kind);
      yield* this.#closeFlow();
      this.#flow = { kind, key: `flow ${this.#flows}` };
      this.#flows += 1;
      const start: StreamEvent =
        kind === 'reasoning' ? { type: 'reasoning-start', form: 'trace' } : { type: `${kind}-start` };
      yield* this.#parts.open(this.#flow.key, start);
      if (this.#parts.contended) yield* this.#calls.settle();
    }
    yield* this.#parts.add(this.#flow?.key ?? '', delta);
  }

  *#closeFlow(): Generator<StreamEvent> {
    const flow = this.#flow;
    if (flow === null) return;
    this.#flow = null;
    if (flow.kind === 'text') {
      for (const citation of this.#citations.splice(0)) {
        yield* this.#parts.add(flow.key, { type: 'text-citation', citation });
      }
    }
    yield* this.#parts.close(flow.key, { type: `${flow.kind}-end` });
  }

  *#closeAll(): Generator<StreamEvent> {
    const { reason } = this.#decodedFinish;
    yield* this.#pieces(this.#tags?.end(this.#calls.any || isCut(reason)));
    yield* this.#closeFlow();
    yield* this.#calls.closeAll();
  }
}
