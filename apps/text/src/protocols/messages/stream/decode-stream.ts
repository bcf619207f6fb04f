import {
  type MessagesCitation,
  MessagesEvent,
  MessagesOutputBlock,
} from '@gateway/contracts/anthropic/messages-wire';
import { lookUp } from '@gateway/contracts/look-up';
import type { StreamEvent } from '../../../conversation/reply/stream-event.ts';
import type { Target } from '../../../conversation/target.ts';
import { isJsonObject, parseArguments } from '../../../wire/raw-json.ts';
import { readUpstream, upstreamCutOff } from '../../../wire/read-upstream.ts';
import type { StreamStep } from '../../../wire/stream/step.ts';
import { NO_USAGE, type Usage } from '../../../wire/usage.ts';
import { decodeCitation } from '../reply/citations.ts';
import { decodeSearchResult, ownPayload, queriesOf } from '../reply/decode-reply.ts';
import { decodeMessagesError } from '../reply/errors.ts';
import { decodeFinish } from '../reply/finish-reason.ts';
import { decodeTier, mergeUsage, readUsage } from '../reply/usage.ts';

/** The blocks that are read, and the deltas that each of them takes. Everything else is skipped. */
const DELTAS: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  redacted_thinking: [],
  tool_use: ['input_json_delta'],
  server_tool_use: ['input_json_delta'],
  web_search_tool_result: [],
};

interface OpenBlock {
  readonly type: string;
  readonly index: number | undefined;
  /** Of a text block. */
  length: number;
  readonly citations: MessagesCitation[];
  signature: string;
  /** Of a server tool's call. */
  readonly id: string;
  json: string;
  /** Of a tool's call: what its start already has, for servers that send no deltas of it. */
  readonly input: unknown;
}

/** A Messages stream from an upstream, as neutral events. */
export class MessagesStreamDecoder implements StreamStep<string, StreamEvent> {
  readonly #target: Target;
  readonly #clean: (text: string) => string;
  readonly #searches = new Map<string, readonly string[]>();
  #block: OpenBlock | null = null;
  #reported: ReturnType<typeof mergeUsage> = null;
  #usage: Usage = NO_USAGE;
  #tier: string | undefined;
  #ending: Parameters<typeof decodeFinish>[0] | null = null;
  #ended = false;

  constructor(target: Target, clean: (text: string) => string) {
    this.#target = target;
    this.#clean = clean;
  }

  *event(data: string): Generator<StreamEvent> {
    if (this.#ended || data === '[DONE]') return;
    const event = readUpstream(MessagesEvent, JSON.parse(data));
    switch (event.type) {
      case 'message_start':
        this.#count(event.message?.usage);
        this.#tier = decodeTier(this.#reported?.service_tier);
        yield { type: 'start', usage: this.#usage, serviceTier: this.#tier };
        break;
      case 'content_block_start':
        yield* this.#start(event.content_block, event.index);
        break;
      case 'content_block_delta':
        if (this.#isOpen(event.index)) yield* this.#delta(event.delta);
        break;
      case 'content_block_stop':
        if (this.#isOpen(event.index)) yield* this.#stop();
        break;
      case 'message_delta':
        this.#count(event.usage);
        if (event.delta?.stop_reason) this.#ending = event.delta;
        break;
      case 'message_stop':
        yield* this.#finish();
        break;
      case 'ping':
        yield { type: 'ping' };
        break;
      case 'error':
        this.#ended = true;
        yield { type: 'error', error: decodeMessagesError(event.error, this.#clean), usage: this.#usage };
        break;
    }
  }

  *end(): Generator<StreamEvent> {
    if (this.#ended) return;
    this.#ended = true;
    yield { type: 'error', error: upstreamCutOff(), usage: this.#usage };
  }

  #count(usage: unknown): void {
    this.#reported = mergeUsage(this.#reported, usage);
    this.#usage = readUsage(this.#reported) ?? NO_USAGE;
  }

  *#finish(): Generator<StreamEvent> {
    yield* this.#stop();
    this.#ended = true;
    const finish = decodeFinish(this.#ending ?? {});
    yield { type: 'finish', finish, usage: this.#usage, serviceTier: this.#tier };
  }

  /** Whether an event belongs to the block that is read at the moment. */
  #isOpen(index: number | undefined): boolean {
    return index === undefined || this.#block?.index === undefined || this.#block.index === index;
  }

  *#start(block: MessagesEvent['content_block'], index: MessagesEvent['index']): Generator<StreamEvent> {
    if (block === undefined || lookUp(DELTAS, block.type) === undefined) return;
    yield* this.#stop();
    const { type, input } = block;
    const id = typeof block.id === 'string' ? block.id : '';
    this.#block = { type, index, length: 0, citations: [], signature: '', id, json: '', input };
    switch (block.type) {
      case 'text':
        yield { type: 'text-start' };
        if (typeof block.text === 'string') yield* this.#delta({ type: 'text_delta', text: block.text });
        break;
      case 'thinking':
        yield { type: 'reasoning-start', form: 'summary' };
        if (typeof block.thinking === 'string') yield* this.#thinking(block.thinking);
        if (typeof block.signature === 'string') this.#block.signature = block.signature;
        break;
      case 'redacted_thinking': {
        const { data } = readUpstream(MessagesOutputBlock.redacted_thinking, block);
        yield { type: 'reasoning-start', form: 'summary' };
        yield { type: 'reasoning-end', payload: ownPayload('redacted', data, this.#target) };
        break;
      }
      case 'tool_use': {
        const { name } = readUpstream(MessagesOutputBlock.tool_use, block);
        yield { type: 'tool-call-start', id, name };
        break;
      }
      case 'server_tool_use':
        if (block.name === 'web_search') yield { type: 'web-search-start' };
        break;
      case 'web_search_tool_result':
        yield { type: 'web-search-end', search: decodeSearchResult(block, this.#searches) };
        break;
    }
  }

  *#delta(delta: MessagesEvent['delta']): Generator<StreamEvent> {
    const block = this.#block;
    if (block === null || delta?.type === undefined) return;
    if (!lookUp(DELTAS, block.type)?.includes(delta.type)) return;
    switch (delta.type) {
      case 'text_delta':
        if (!delta.text) break;
        block.length += delta.text.length;
        yield { type: 'text-delta', text: delta.text };
        break;
      case 'thinking_delta':
        yield* this.#thinking(delta.thinking ?? '');
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
        if (block.type === 'tool_use') yield { type: 'tool-call-delta', text: delta.partial_json };
        break;
    }
  }

  *#thinking(text: string): Generator<StreamEvent> {
    if (text !== '') yield { type: 'reasoning-delta', text };
  }

  *#stop(): Generator<StreamEvent> {
    const block = this.#block;
    this.#block = null;
    switch (block?.type) {
      case 'text':
        for (const citation of block.citations) {
          const mark = decodeCitation(citation, block.length);
          if (mark !== null) yield { type: 'text-citation', citation: mark };
        }
        yield { type: 'text-end' };
        break;
      case 'thinking': {
        const { signature } = block;
        const payload = signature === '' ? undefined : ownPayload('signature', signature, this.#target);
        yield { type: 'reasoning-end', payload };
        break;
      }
      case 'tool_use':
        if (block.json === '' && hasMembers(block.input)) {
          yield { type: 'tool-call-delta', text: JSON.stringify(block.input) };
        }
        yield { type: 'tool-call-end' };
        break;
      case 'server_tool_use':
        this.#searches.set(block.id, queriesOf(block.json === '' ? block.input : parseArguments(block.json)));
        break;
    }
  }
}

const hasMembers = (input: unknown): boolean => isJsonObject(input) && Object.keys(input).length > 0;
