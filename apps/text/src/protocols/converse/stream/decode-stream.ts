import {
  type ConverseCitation,
  type ConverseEnding,
  ConverseEvent,
} from '@gateway/contracts/amazon/converse-wire';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { reportsFailure } from '@gateway/upstream/first-output/reported-error';
import { PartSequence } from '../../../neutral/reply/part-sequence.ts';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import type { Target } from '../../../neutral/target.ts';
import { decodeFailure } from '../../../wire/openai-errors.ts';
import type { CleanText } from '../../../wire/public-message.ts';
import { readUpstream, upstreamCutOff, upstreamNonsense } from '../../../wire/read-upstream.ts';
import type { StreamStep } from '../../../wire/stream/step.ts';
import { laterUsage, NO_USAGE, type Usage } from '../../../wire/usage.ts';
import { decodeCitation } from '../reply/citations.ts';
import { argumentsOf, isOwnCall } from '../reply/decode-reply.ts';
import { decodeFinish } from '../reply/finish-reason.ts';
import { ownPayload } from '../reply/payloads.ts';
import { decodeTier, readUsage } from '../reply/usage.ts';

type BlockDelta = NonNullable<NonNullable<ConverseEvent['contentBlockDelta']>['delta']>;

interface OpenBlock {
  readonly type: 'text' | 'reasoning' | 'call';
  /** Of its part of the answer. */
  readonly key: string;
  /** Of a text. */
  length: number;
  readonly citations: ConverseCitation[];
  signature: string;
  readonly redacted: string[];
}

/**
 * A stream of Converse, whose events are text by now, as neutral events. Blocks of text and reasoning begin with their first delta;
 * usage comes after the end of the answer.
 */
export class ConverseStreamDecoder implements StreamStep<string, StreamEvent> {
  readonly #target: Target;
  readonly #clean: CleanText;
  readonly #parts = new PartSequence();
  readonly #blocks = new Map<number, OpenBlock>();
  /** Calls that the provider runs itself. */
  readonly #skipped = new Set<number>();
  #begun = 0;
  #last = -1;
  #hasCalls = false;
  #usage: Usage | null = null;
  #tier: string | undefined;
  #ending: ConverseEnding | null = null;
  #ended = false;

  constructor(target: Target, clean: CleanText) {
    this.#target = target;
    this.#clean = clean;
  }

  *event(data: string): Generator<StreamEvent> {
    if (this.#ended || data === END_MARK) return;
    const parsed: unknown = JSON.parse(data);
    const event = readUpstream(ConverseEvent, parsed);
    if (event.messageStart !== undefined) yield { type: 'start', usage: NO_USAGE };
    else if (event.contentBlockStart !== undefined) yield* this.#start(event.contentBlockStart);
    else if (event.contentBlockDelta !== undefined) {
      const { contentBlockIndex: index = this.#last, delta } = event.contentBlockDelta;
      if (delta !== undefined) yield* this.#delta(delta, index);
    } else if (event.contentBlockStop !== undefined)
      yield* this.#stop(event.contentBlockStop.contentBlockIndex ?? this.#last);
    else if (event.messageStop !== undefined) {
      this.#ending = event.messageStop;
      if (this.#usage !== null) yield* this.#finish();
    } else if (event.metadata !== undefined) {
      this.#usage = laterUsage(this.#usage, readUsage(event.metadata));
      this.#tier = decodeTier(event.metadata.serviceTier) ?? this.#tier;
      if (this.#ending !== null) yield* this.#finish();
    } else if (reportsFailure(parsed)) {
      this.#ended = true;
      yield { type: 'error', error: decodeFailure(data, this.#clean), usage: this.#usage ?? NO_USAGE };
    }
  }

  *end(): Generator<StreamEvent> {
    if (this.#ended) return;
    if (this.isComplete) return yield* this.#finish();
    this.#ended = true;
    yield { type: 'error', error: upstreamCutOff(), usage: this.#usage ?? NO_USAGE };
  }

  get reported(): Usage | null {
    return this.#usage;
  }

  get isComplete(): boolean {
    return this.#ending !== null;
  }

  get awaitsUsage(): boolean {
    return this.#usage === null;
  }

  *#finish(): Generator<StreamEvent> {
    for (const index of this.#blocks.keys()) yield* this.#stop(index);
    const finish = decodeFinish(this.#ending ?? {}, { calls: this.#hasCalls });
    this.#ended = true;
    yield { type: 'finish', finish, usage: this.#usage ?? NO_USAGE, serviceTier: this.#tier };
  }

  *#start({
    contentBlockIndex,
    start,
  }: NonNullable<ConverseEvent['contentBlockStart']>): Generator<StreamEvent> {
    const index = contentBlockIndex ?? this.#last + 1;
    this.#last = index;
    const call = start?.toolUse;
    if (call === undefined) return;
    yield* this.#stop(index);
    if (!isOwnCall(call)) {
      this.#skipped.add(index);
      return;
    }
    this.#hasCalls = true;
    const block = this.#open(index, 'call');
    yield* this.#parts.open(block.key, {
      type: 'tool-call-start',
      id: call.toolUseId ?? '',
      name: call.name,
    });
    if (call.input !== undefined) yield* this.#input(block, call.input);
  }

  #open(index: number, type: OpenBlock['type']): OpenBlock {
    this.#begun += 1;
    const key = `block ${this.#begun}`;
    const block: OpenBlock = { type, key, length: 0, citations: [], signature: '', redacted: [] };
    this.#blocks.set(index, block);
    this.#last = index;
    return block;
  }

  *#delta(delta: BlockDelta, index: number): Generator<StreamEvent> {
    if (this.#skipped.has(index)) return;
    const { text, toolUse, reasoningContent: reasoning, citation } = delta;
    if (toolUse !== undefined) {
      const block = this.#blocks.get(index);
      // Nobody could run a call that nothing has named.
      if (block?.type !== 'call') throw upstreamNonsense();
      yield* this.#input(block, toolUse.input);
    }
    if (reasoning !== undefined) yield* this.#reasoning(reasoning, index);
    if (text === undefined && citation === undefined) return;
    const block = yield* this.#implied('text', index);
    if (text) {
      block.length += text.length;
      yield* this.#parts.add(block.key, { type: 'text-delta', text });
    }
    if (citation !== undefined) block.citations.push(citation);
  }

  *#reasoning(
    { text, signature, redactedContent }: NonNullable<BlockDelta['reasoningContent']>,
    index: number,
  ): Generator<StreamEvent> {
    const block = yield* this.#implied('reasoning', index);
    if (text) yield* this.#parts.add(block.key, { type: 'reasoning-delta', text });
    if (signature) block.signature += signature;
    if (redactedContent) block.redacted.push(redactedContent);
  }

  /** The block of this kind in this place, begun where none has: what is there of another kind has ended. */
  *#implied(type: 'text' | 'reasoning', index: number): Generator<StreamEvent, OpenBlock> {
    const known = this.#blocks.get(index);
    if (known?.type === type) return known;
    yield* this.#stop(index);
    const block = this.#open(Math.max(index, 0), type);
    const start: StreamEvent =
      type === 'text' ? { type: 'text-start' } : { type: 'reasoning-start', form: 'summary' };
    yield* this.#parts.open(block.key, start);
    return block;
  }

  *#input(block: OpenBlock, input: unknown): Generator<StreamEvent> {
    const text = typeof input === 'string' ? input : input === undefined ? '' : argumentsOf(input);
    if (text !== '') yield* this.#parts.add(block.key, { type: 'tool-call-delta', text });
  }

  *#stop(index: number): Generator<StreamEvent> {
    this.#skipped.delete(index);
    const block = this.#blocks.get(index);
    if (block === undefined) return;
    this.#blocks.delete(index);
    const { type, key } = block;
    if (type === 'text') {
      for (const one of block.citations) {
        const citation = decodeCitation(one, block.length);
        if (citation !== null) yield* this.#parts.add(key, { type: 'text-citation', citation });
      }
      yield* this.#parts.close(key, { type: 'text-end' });
    } else if (type === 'reasoning')
      yield* this.#parts.close(key, { type: 'reasoning-end', payload: this.#payload(block) });
    else yield* this.#parts.close(key, { type: 'tool-call-end' });
  }

  #payload({ signature, redacted }: OpenBlock) {
    const [first, ...others] = redacted;
    if (first !== undefined) {
      const bytes = () => Buffer.concat(redacted.map((piece) => Buffer.from(piece, 'base64')));
      const data = others.length === 0 ? first : bytes().toString('base64');
      return ownPayload('redacted', data, this.#target);
    }
    return signature === '' ? undefined : ownPayload('signature', signature, this.#target);
  }
}
