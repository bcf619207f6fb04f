import {
  MessagesBlock,
  type MessagesCitation,
  MessagesEvent,
} from '@gateway/contracts/anthropic/messages-wire';
import { NO_USAGE, type Usage } from '../conversation/reply.ts';
import type { StreamEvent } from '../conversation/stream-event.ts';
import type { StreamStep } from '../step.ts';
import type { Target } from '../target.ts';
import { readUpstream, upstreamCutOff } from '../wire.ts';
import { decodeCitation } from './citations.ts';
import { decodeSearchResult, ownPayload, queriesOf } from './decode-reply.ts';
import { decodeMessagesError } from './errors.ts';
import { decodeFinish } from './finish-reason.ts';
import { decodeTier, mergeUsage, readUsage } from './usage.ts';

interface OpenBlock {
  readonly type: string;
  /** Of a text block. */
  length: number;
  readonly citations: MessagesCitation[];
  signature: string;
  /** Of a server tool's call. */
  readonly id: string;
  json: string;
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
        yield* this.#start(event.content_block);
        break;
      case 'content_block_delta':
        yield* this.#delta(event.delta);
        break;
      case 'content_block_stop':
        yield* this.#stop();
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

  *#start(block: MessagesEvent['content_block']): Generator<StreamEvent> {
    yield* this.#stop();
    if (block === undefined) return;
    const id = typeof block.id === 'string' ? block.id : '';
    this.#block = { type: block.type, length: 0, citations: [], signature: '', id, json: '' };
    switch (block.type) {
      case 'text':
        yield { type: 'text-start' };
        if (block.text !== '') yield* this.#delta({ type: 'text_delta', text: String(block.text ?? '') });
        break;
      case 'thinking':
        yield { type: 'reasoning-start', form: 'summary' };
        if (typeof block.thinking === 'string') yield* this.#thinking(block.thinking);
        if (typeof block.signature === 'string') this.#block.signature = block.signature;
        break;
      case 'redacted_thinking': {
        const { data } = readUpstream(MessagesBlock.redacted_thinking, block);
        yield { type: 'reasoning-start', form: 'summary' };
        yield { type: 'reasoning-end', payload: ownPayload('redacted', data, this.#target) };
        break;
      }
      case 'tool_use': {
        const { name } = readUpstream(MessagesBlock.tool_use, block);
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
    if (block === null || delta === undefined) return;
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
        if (block.type === 'tool_use' && delta.partial_json) {
          yield { type: 'tool-call-delta', text: delta.partial_json };
        } else block.json += delta.partial_json ?? '';
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
        yield { type: 'tool-call-end' };
        break;
      case 'server_tool_use':
        this.#searches.set(block.id, queriesOf(block.json === '' ? {} : JSON.parse(block.json)));
        break;
    }
  }
}
