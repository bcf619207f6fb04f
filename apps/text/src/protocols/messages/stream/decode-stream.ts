import {
  type MessagesCitation,
  MessagesEvent,
  MessagesOutputBlock,
} from '@gateway/contracts/anthropic/messages-wire';
import { END_MARK } from '@gateway/contracts/event-stream/stream-events';
import { lookUp } from '@gateway/contracts/look-up';
import { reportsFailure } from '@gateway/upstream/first-output/reported-error';
import { PartSequence } from '../../../neutral/reply/part-sequence.ts';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import type { Target } from '../../../neutral/target.ts';
import { objectOf, textAt } from '../../../wire/json-object.ts';
import { decodeFailure } from '../../../wire/openai-errors.ts';
import { isJsonObject, parseArguments, parseExactly } from '../../../wire/raw-json.ts';
import { readUpstream, upstreamCutOff, upstreamNonsense } from '../../../wire/read-upstream.ts';
import type { StreamStep } from '../../../wire/stream/step.ts';
import { ToolBlockCounter } from '../../../wire/tool-calls.ts';
import { NO_USAGE, type Usage } from '../../../wire/usage.ts';
import { decodeCitation } from '../reply/citations.ts';
import { argumentsOf, decodeSearchResult, ownPayload, queriesOf } from '../reply/decode-reply.ts';
import { decodeMessagesError } from '../reply/errors.ts';
import { decodeFinish } from '../reply/finish-reason.ts';
import { exactly } from '../reply/paused-turn.ts';
import { decodeTier, mergeUsage, readUsage, readUsageAtTier, usageSoFar } from '../reply/usage.ts';

/** The blocks that are read, and the deltas that each of them takes. Everything else is skipped. */
const DELTAS: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  redacted_thinking: [],
  tool_use: ['input_json_delta'],
  server_tool_use: ['input_json_delta'],
  web_search_tool_result: [],
};

/** The block that a delta belongs to where no event has begun it. */
const IMPLIED: ReadonlyMap<unknown, BlockStart> = new Map([
  ['text_delta', { type: 'text' }],
  ['thinking_delta', { type: 'thinking' }],
]);

type BlockStart = NonNullable<MessagesEvent['content_block']>;

interface OpenBlock {
  readonly type: string;
  /** Of its part of the answer. */
  readonly key: string;
  /** Of a text block. */
  length: number;
  readonly citations: MessagesCitation[];
  signature: string;
  /** Of a call, a server tool's too. */
  readonly id: string;
  json: string;
  /** Of a call: what its start already has, for servers that send no deltas of it. */
  readonly input: unknown;
}

/** A Messages stream from an upstream, as neutral events. Blocks that overlap are put one after another. */
export class MessagesStreamDecoder implements StreamStep<string, StreamEvent> {
  readonly #target: Target;
  readonly #clean: (text: string) => string;
  readonly #parts = new PartSequence();
  readonly #blocks = new Map<number, OpenBlock>();
  readonly #skipped = new Set<number>();
  readonly #searches = new Map<string, readonly string[]>();
  readonly #openSearches = new Set<string>();
  /** The index of the last block that began, for servers that leave indexes out. */
  #last = -1;
  #begun = 0;
  #hasCalls = false;
  /** What the first event has of the answer already. */
  #content: readonly unknown[] = [];
  #reported: ReturnType<typeof mergeUsage> = null;
  readonly #calls = new ToolBlockCounter();
  #usage: Usage = NO_USAGE;
  #tier: string | undefined;
  #ending: Parameters<typeof decodeFinish>[0] = {};
  #ended = false;
  model: string | null = null;

  constructor(target: Target, clean: (text: string) => string) {
    this.#target = target;
    this.#clean = clean;
  }

  *event(data: string): Generator<StreamEvent> {
    if (this.#ended || data === END_MARK) return;
    const parsed: unknown = JSON.parse(data);
    const event = readUpstream(MessagesEvent, parsed);
    switch (event.type) {
      case 'message_start':
        this.model = textAt(objectOf(objectOf(parsed).message), 'model');
        this.#count(event.message?.usage);
        this.#tier = decodeTier(this.#reported?.service_tier);
        if (Array.isArray(event.message?.content)) this.#content = exactContent(event.message.content, data);
        yield { type: 'start', usage: this.#usage, serviceTier: this.#tier };
        break;
      case 'content_block_start':
        if (event.content_block !== undefined)
          yield* this.#begin(exactly(event.content_block, data), event.index);
        break;
      case 'content_block_delta':
        yield* this.#delta(event.delta, event.index ?? this.#last);
        break;
      case 'content_block_stop':
        yield* this.#stop(event.index ?? this.#last);
        break;
      case 'message_delta':
        this.#count(event.usage);
        if (event.delta?.stop_reason) this.#ending = event.delta;
        break;
      case 'message_stop':
        this.#count(event.usage);
        yield* this.#finish();
        break;
      case 'ping':
        yield { type: 'ping' };
        break;
      case 'error':
        this.#count(event.usage);
        this.#ended = true;
        yield {
          type: 'error',
          error: decodeMessagesError(event.error, this.#clean),
          usage: this.reported ?? NO_USAGE,
        };
        break;
      default:
        if (!reportsFailure(parsed)) break;
        this.#ended = true;
        yield { type: 'error', error: decodeFailure(data, this.#clean), usage: this.reported ?? NO_USAGE };
    }
  }

  *end(): Generator<StreamEvent> {
    if (this.#ended) return;
    if (this.isComplete) return yield* this.#finish();
    this.#ended = true;
    yield { type: 'error', error: upstreamCutOff(), usage: this.reported ?? NO_USAGE };
  }

  get reported(): Usage | null {
    return usageSoFar(readUsageAtTier(this.#reported), this.#calls.counts);
  }

  get isComplete(): boolean {
    const { stop_reason: reason } = this.#ending;
    return Boolean(reason) && reason !== 'pause_turn';
  }

  #count(usage: unknown): void {
    this.#reported = mergeUsage(this.#reported, usage);
    this.#usage = readUsage(this.#reported) ?? NO_USAGE;
  }

  *#finish(): Generator<StreamEvent> {
    if (this.#begun === 0) {
      for (const block of this.#content) {
        if (isJsonObject(block) && typeof block.type === 'string')
          yield* this.#begin({ ...block, type: block.type }, undefined);
      }
    }
    for (const index of this.#blocks.keys()) yield* this.#stop(index);
    const finish = decodeFinish(this.#ending, { calls: this.#hasCalls });
    // A search whose turn pauses has its result in the next reply.
    if (finish.reason !== 'pause' || this.#parts.contended)
      for (const id of this.#openSearches) yield* this.#endSearch(id, { type: 'web_search_tool_result' });
    this.#ended = true;
    const usage = readUsage(this.#reported, this.#calls.counts) ?? NO_USAGE;
    yield { type: 'finish', finish, usage, serviceTier: this.#tier };
  }

  *#begin(block: BlockStart, given: number | undefined): Generator<StreamEvent> {
    const index = given ?? this.#last + 1;
    // A block that begins in the place of another one, or that has no place, ends that one.
    yield* this.#stop(given ?? this.#last);
    this.#last = index;
    this.#begun += 1;
    this.#calls.add(block);
    this.#skipped.delete(index);
    if (lookUp(DELTAS, block.type) === undefined) this.#skipped.add(index);
    else yield* this.#open(block, index);
  }

  *#open(start: BlockStart, index: number): Generator<StreamEvent> {
    const { type, input } = start;
    const key = `block ${this.#begun}`;
    const id = typeof start.id === 'string' ? start.id : '';
    const block = { type, key, length: 0, citations: [], signature: '', id, json: '', input };
    this.#blocks.set(index, block);
    switch (type) {
      case 'text':
        yield* this.#parts.open(key, { type: 'text-start' });
        if (typeof start.text === 'string') yield* this.#text(block, start.text);
        break;
      case 'thinking':
        yield* this.#parts.open(key, { type: 'reasoning-start', form: 'summary' });
        if (typeof start.thinking === 'string') yield* this.#thinking(block, start.thinking);
        if (typeof start.signature === 'string') block.signature = start.signature;
        break;
      case 'redacted_thinking': {
        const { data } = readUpstream(MessagesOutputBlock.redacted_thinking, start);
        const payload = ownPayload('redacted', data, this.#target);
        yield* this.#parts.open(key, { type: 'reasoning-start', form: 'summary' });
        yield* this.#parts.close(key, { type: 'reasoning-end', payload });
        break;
      }
      case 'tool_use': {
        const { name } = readUpstream(MessagesOutputBlock.tool_use, start);
        this.#hasCalls = true;
        yield* this.#parts.open(key, { type: 'tool-call-start', id, name });
        break;
      }
      case 'server_tool_use':
        if (start.name !== 'web_search') break;
        this.#openSearches.add(id);
        yield* this.#parts.open(searchKey(id), { type: 'web-search-start' });
        break;
      case 'web_search_tool_result': {
        const { tool_use_id: searched = '' } = readUpstream(
          MessagesOutputBlock.web_search_tool_result,
          start,
        );
        yield* this.#endSearch(searched, start);
        break;
      }
    }
  }

  *#endSearch(id: string, result: BlockStart): Generator<StreamEvent> {
    for (const [index, block] of this.#blocks) {
      if (block.type !== 'server_tool_use' || block.id !== id) continue;
      yield* this.#stop(index);
      this.#skipped.add(index);
    }
    const search = decodeSearchResult({ ...result, tool_use_id: id }, this.#searches);
    const end: StreamEvent = { type: 'web-search-end', search };
    // Its beginning may be in the reply before the turn paused.
    if (this.#openSearches.delete(id)) yield* this.#parts.close(searchKey(id), end);
    else yield end;
  }

  *#delta(delta: MessagesEvent['delta'], index: number): Generator<StreamEvent> {
    if (delta?.type === undefined || this.#skipped.has(index)) return;
    if (!this.#blocks.has(index)) yield* this.#beginImplied(delta.type, index);
    const block = this.#blocks.get(index);
    if (block === undefined || !lookUp(DELTAS, block.type)?.includes(delta.type)) return;
    switch (delta.type) {
      case 'text_delta':
        yield* this.#text(block, delta.text ?? '');
        break;
      case 'thinking_delta':
        yield* this.#thinking(block, delta.thinking ?? '');
        break;
      case 'signature_delta':
        block.signature = delta.signature ?? '';
        break;
      case 'citations_delta':
        if (delta.citation) block.citations.push(delta.citation);
        break;
      case 'input_json_delta':
        if (!delta.partial_json) break;
        block.json += delta.partial_json;
        if (block.type === 'tool_use')
          yield* this.#parts.add(block.key, { type: 'tool-call-delta', text: delta.partial_json });
        break;
    }
  }

  /** @throws GatewayError for a call that nothing has named: nobody could run it */
  *#beginImplied(delta: string, index: number): Generator<StreamEvent> {
    if (delta === 'input_json_delta') throw upstreamNonsense();
    const implied = IMPLIED.get(delta);
    if (implied !== undefined) yield* this.#begin(implied, index);
  }

  *#text(block: OpenBlock, text: string): Generator<StreamEvent> {
    if (text === '') return;
    block.length += text.length;
    yield* this.#parts.add(block.key, { type: 'text-delta', text });
  }

  *#thinking({ key }: OpenBlock, text: string): Generator<StreamEvent> {
    if (text !== '') yield* this.#parts.add(key, { type: 'reasoning-delta', text });
  }

  *#stop(index: number): Generator<StreamEvent> {
    const block = this.#blocks.get(index);
    if (block === undefined) return;
    this.#blocks.delete(index);
    const { key } = block;
    switch (block.type) {
      case 'text':
        for (const citation of block.citations) {
          const mark = decodeCitation(citation, block.length);
          if (mark !== null) yield* this.#parts.add(key, { type: 'text-citation', citation: mark });
        }
        yield* this.#parts.close(key, { type: 'text-end' });
        break;
      case 'thinking': {
        const { signature } = block;
        const payload = signature === '' ? undefined : ownPayload('signature', signature, this.#target);
        yield* this.#parts.close(key, { type: 'reasoning-end', payload });
        break;
      }
      case 'tool_use': {
        const text = block.json === '' ? argumentsOf(block.input) : '';
        if (text !== '') yield* this.#parts.add(key, { type: 'tool-call-delta', text });
        yield* this.#parts.close(key, { type: 'tool-call-end' });
        break;
      }
      case 'server_tool_use':
        this.#searches.set(block.id, queriesOf(block.json === '' ? block.input : parseArguments(block.json)));
        break;
    }
  }
}

/** The content of a first event, each number of an input as it was written. */
function exactContent(content: readonly unknown[], data: string): readonly unknown[] {
  if (content.length === 0) return content;
  const exact = objectOf(objectOf(parseExactly(data)).message).content;
  return Array.isArray(exact) ? exact : content;
}

const searchKey = (id: string): string => `search ${id}`;
