import { ResponsesOutputItem } from '@gateway/contracts/openai/responses-wire';
import type { Citation } from '../../../conversation/parts.ts';
import type { PartSequence } from '../../../conversation/reply/part-sequence.ts';
import type { StreamEvent } from '../../../conversation/reply/stream-event.ts';
import type { Target } from '../../../conversation/target.ts';
import { readUpstream } from '../../../wire/read-upstream.ts';
import { decodeSearch, sealOf } from '../reply/decode-reply.ts';

type Item = { readonly type: string; readonly [member: string]: unknown };
type Kind = 'text' | 'refusal' | 'reasoning' | 'tool-call' | 'web-search';

interface OpenPart {
  readonly kind: Kind;
  readonly item: number;
  /** Whether any delta came, so that what only a `done` event holds is taken once. */
  spoken: boolean;
}

/** Follows the items of one response and opens, feeds and closes the neutral parts that they amount to. */
export class ItemStream {
  readonly seen = { calls: false, refusal: false };
  searches = 0;
  readonly #target: Target;
  readonly #parts: PartSequence;
  readonly #open = new Map<string, OpenPart>();

  constructor(target: Target, parts: PartSequence) {
    this.#target = target;
    this.#parts = parts;
  }

  added(index: number, item: Item): StreamEvent[] {
    switch (item.type) {
      case 'function_call': {
        const { call_id: id = '', name, namespace } = readUpstream(ResponsesOutputItem.function_call, item);
        return this.#startCall(index, { id, name, ...(namespace && { namespace }) });
      }
      case 'custom_tool_call': {
        const {
          call_id: id = '',
          name,
          namespace,
        } = readUpstream(ResponsesOutputItem.custom_tool_call, item);
        return this.#startCall(index, { id, name, custom: true, ...(namespace && { namespace }) });
      }
      case 'web_search_call':
        this.searches += 1;
        return this.#start(itemKey(index), 'web-search', index, { type: 'web-search-start' });
      default:
        return [];
    }
  }

  /** The complete item: gives what no delta gave, and closes. */
  done(index: number, item: Item): StreamEvent[] {
    const key = itemKey(index);
    switch (item.type) {
      case 'function_call':
      case 'custom_tool_call': {
        const out = this.#open.has(key) ? [] : this.added(index, item);
        const whole = item.type === 'function_call' ? item.arguments : item.input;
        if (!this.#open.get(key)?.spoken && typeof whole === 'string') out.push(...this.call(index, whole));
        return [...out, ...this.#close(key, { type: 'tool-call-end' })];
      }
      case 'web_search_call': {
        const out = this.#open.has(key) ? [] : this.added(index, item);
        return [...out, ...this.#close(key, { type: 'web-search-end', search: decodeSearch(item) })];
      }
      case 'reasoning':
        return this.#reasoningDone(index, item);
      default:
        return this.#closeItem(index);
    }
  }

  partAdded(index: number, content: number, type: string): StreamEvent[] {
    if (type === 'output_text') return this.#startText(index, content);
    if (type === 'refusal') return this.#startRefusal(index, content);
    return type === 'reasoning_text' ? this.#startReasoning(index, 'trace') : [];
  }

  partDone(index: number, content: number): StreamEvent[] {
    return this.#closeByKind(partKey(index, content));
  }

  text(index: number, content: number, text: string, logprobs: unknown[] | undefined): StreamEvent[] {
    const extra = logprobs?.length ? { logprobs } : {};
    const delta: StreamEvent = { type: 'text-delta', text, ...extra };
    return [...this.#startText(index, content), ...this.#emit(partKey(index, content), text, delta)];
  }

  textWithoutDeltas(index: number, content: number, text: string): StreamEvent[] {
    return this.#open.get(partKey(index, content))?.spoken ? [] : this.text(index, content, text, undefined);
  }

  citation(index: number, content: number, citation: Citation): StreamEvent[] {
    return this.#parts.add(partKey(index, content), { type: 'text-citation', citation });
  }

  refusal(index: number, content: number, text: string): StreamEvent[] {
    const delta: StreamEvent = { type: 'refusal-delta', text };
    return [...this.#startRefusal(index, content), ...this.#emit(partKey(index, content), text, delta)];
  }

  refusalWithoutDeltas(index: number, content: number, text: string): StreamEvent[] {
    return this.#open.get(partKey(index, content))?.spoken ? [] : this.refusal(index, content, text);
  }

  summaryPart(index: number): StreamEvent[] {
    const key = itemKey(index);
    return this.#open.has(key)
      ? this.#parts.add(key, { type: 'reasoning-break' })
      : this.#startReasoning(index, 'summary');
  }

  reasoning(index: number, form: 'summary' | 'trace', text: string): StreamEvent[] {
    const delta: StreamEvent = { type: 'reasoning-delta', text };
    return [...this.#startReasoning(index, form), ...this.#emit(itemKey(index), text, delta)];
  }

  call(index: number, text: string): StreamEvent[] {
    return this.#emit(itemKey(index), text, { type: 'tool-call-delta', text });
  }

  closeAll(): StreamEvent[] {
    return [...this.#open.keys()].flatMap((key) => this.#closeByKind(key));
  }

  #startCall(index: number, call: Omit<StreamEvent & { type: 'tool-call-start' }, 'type'>): StreamEvent[] {
    this.seen.calls = true;
    return this.#start(itemKey(index), 'tool-call', index, { type: 'tool-call-start', ...call });
  }

  #startText(index: number, content: number): StreamEvent[] {
    return this.#start(partKey(index, content), 'text', index, { type: 'text-start' });
  }

  #startRefusal(index: number, content: number): StreamEvent[] {
    this.seen.refusal = true;
    return this.#start(partKey(index, content), 'refusal', index, { type: 'refusal-start' });
  }

  #startReasoning(index: number, form: 'summary' | 'trace'): StreamEvent[] {
    return this.#start(itemKey(index), 'reasoning', index, { type: 'reasoning-start', form });
  }

  #reasoningDone(index: number, item: Item): StreamEvent[] {
    const key = itemKey(index);
    const { summary, content } = readUpstream(ResponsesOutputItem.reasoning, item);
    const form = content?.length ? 'trace' : 'summary';
    const out = this.#startReasoning(index, form);
    if (!this.#open.get(key)?.spoken) {
      for (const [position, { text }] of ((form === 'trace' ? content : summary) ?? []).entries()) {
        if (position > 0) out.push(...this.#parts.add(key, { type: 'reasoning-break' }));
        out.push(...this.#emit(key, text, { type: 'reasoning-delta', text }));
      }
    }
    return [...out, ...this.#close(key, { type: 'reasoning-end', payload: sealOf(item, this.#target) })];
  }

  #start(key: string, kind: Kind, item: number, event: StreamEvent): StreamEvent[] {
    if (this.#open.has(key)) return [];
    this.#open.set(key, { kind, item, spoken: false });
    return this.#parts.open(key, event);
  }

  #emit(key: string, text: string, event: StreamEvent): StreamEvent[] {
    const part = this.#open.get(key);
    if (part === undefined || text === '') return [];
    part.spoken = true;
    return this.#parts.add(key, event);
  }

  #close(key: string, event: StreamEvent): StreamEvent[] {
    return this.#open.delete(key) ? this.#parts.close(key, event) : [];
  }

  #closeItem(index: number): StreamEvent[] {
    const keys = [...this.#open].filter(([, part]) => part.item === index).map(([key]) => key);
    return keys.flatMap((key) => this.#closeByKind(key));
  }

  /** Closes what the upstream left open. */
  #closeByKind(key: string): StreamEvent[] {
    const kind = this.#open.get(key)?.kind;
    if (kind === undefined) return [];
    if (kind !== 'web-search') return this.#close(key, { type: `${kind}-end` });
    const search = { type: 'web-search', status: 'failed', queries: [], sources: [] } as const;
    return this.#close(key, { type: 'web-search-end', search });
  }
}

const itemKey = (index: number): string => `${index}`;
const partKey = (index: number, content: number): string => `${index}.${content}`;
