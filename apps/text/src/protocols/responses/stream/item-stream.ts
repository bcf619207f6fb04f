import { ResponsesOutputItem } from '@gateway/contracts/openai/responses-wire';
import type { Citation } from '../../../neutral/parts.ts';
import type { PartSequence } from '../../../neutral/reply/part-sequence.ts';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';
import type { Target } from '../../../neutral/target.ts';
import { textAt } from '../../../wire/json-object.ts';
import { readUpstream, upstreamNonsense } from '../../../wire/read-upstream.ts';
import { decodeAnnotation } from '../reply/annotations.ts';
import { argumentsOf, contentOf, decodeSearch, sealOf } from '../reply/decode-reply.ts';
import { type ItemIdentity, identityOf, matchItems } from '../reply/match-items.ts';
import { SpokenParts } from './spoken-parts.ts';

type Item = { readonly type: string; readonly [member: string]: unknown };

/** What is known of a call. */
interface Call {
  id: string;
  name: string;
  namespace: string;
  readonly isCustom: boolean;
  /** What came before its name or its id. */
  waiting: string;
}

/** Where the words of a reasoning item belong. */
interface ReasoningPosition {
  readonly form: 'summary' | 'trace';
  readonly part: number | undefined;
}

/**
 * Follows the items of one response and opens, feeds and closes the neutral parts that they amount to. A stream says most
 * things several times; servers leave out some of these. What is said at least once is given once. A text begins with its
 * first words, a call when its name and id are known.
 */
export class ItemStream {
  readonly seen = { calls: false, refusal: false };
  readonly #target: Target;
  readonly #parts: SpokenParts;
  readonly #items = new Map<number, ItemIdentity>();
  /** Items without their last event, as they were announced. */
  readonly #announced = new Map<number, Item>();
  readonly #calls = new Map<number, Call>();
  /** The part that each reasoning item is at. */
  readonly #reasoningParts = new Map<number, number>();
  /** The citations of each text that came before its words; a text that is here needs no others. */
  readonly #citations = new Map<string, Citation[]>();

  constructor(target: Target, sequence: PartSequence) {
    this.#target = target;
    this.#parts = new SpokenParts(sequence);
  }

  /** How many parts of an item's content have ended. */
  endedParts(index: number): number {
    return this.#parts.ended(index);
  }

  added(index: number, item: Item): StreamEvent[] {
    this.#items.set(index, identityOf(item));
    this.#announced.set(index, item);
    switch (item.type) {
      case 'function_call':
      case 'custom_tool_call':
        return this.#announceCall(index, item);
      case 'web_search_call':
        return this.#startSearch(index);
      default:
        return [];
    }
  }

  /** The complete item: gives what no earlier event gave, and closes. */
  done(index: number, item: Item): StreamEvent[] {
    this.#items.set(index, identityOf(item));
    this.#announced.delete(index);
    switch (item.type) {
      case 'function_call':
      case 'custom_tool_call':
        return this.#callDone(index, item);
      case 'web_search_call': {
        const end: StreamEvent = { type: 'web-search-end', search: decodeSearch(item) };
        return [...this.#startSearch(index), ...this.#parts.close(itemKey(index), end)];
      }
      case 'reasoning':
        return this.#reasoningDone(index, item);
      case 'message':
        return [...this.#content(index, contentOf(item)), ...this.#parts.endItem(index)];
      default:
        return this.#parts.endItem(index);
    }
  }

  /** The response has ended with this output: gives what no event of its items gave, and closes everything. */
  finish(output: readonly Item[], newPosition: () => number): StreamEvent[] {
    const out: StreamEvent[] = [];
    for (const [index, position] of matchItems(this.#items, output).entries()) {
      const item = output[index];
      if (item !== undefined) out.push(...this.done(position ?? newPosition(), item));
    }
    for (const [index, item] of this.#announced) out.push(...this.done(index, item));
    for (const index of this.#calls.keys()) out.push(...this.#startCall(index, true));
    return [...out, ...this.#parts.endAll()];
  }

  partDone(index: number, content: number, part: Item | undefined): StreamEvent[] {
    const given = part === undefined ? [] : contentOf({ content: [part] });
    return [...this.#content(index, given, content), ...this.#parts.end(partKey(index, content))];
  }

  text(index: number, content: number, text: string, logprobs?: unknown[]): StreamEvent[] {
    const extra = logprobs?.length ? { logprobs } : {};
    return this.#words(index, content, { type: 'text-delta', text, ...extra });
  }

  wholeText(index: number, content: number, text: string, logprobs?: unknown[]): StreamEvent[] {
    return this.#parts.isSpoken(partKey(index, content)) ? [] : this.text(index, content, text, logprobs);
  }

  citation(index: number, content: number, citation: Citation): StreamEvent[] {
    const key = partKey(index, content);
    const early = this.#citations.get(key) ?? [];
    if (!this.#parts.isOpen(key)) early.push(citation);
    this.#citations.set(key, early);
    return this.#parts.add(key, { type: 'text-citation', citation });
  }

  refusal(index: number, content: number, text: string): StreamEvent[] {
    if (text !== '') this.seen.refusal = true;
    return this.#words(index, content, { type: 'refusal-delta', text });
  }

  wholeRefusal(index: number, content: number, text: string): StreamEvent[] {
    return this.#parts.isSpoken(partKey(index, content)) ? [] : this.refusal(index, content, text);
  }

  /** Another part of a summary begins, at a server that may not number them. */
  summaryPart(index: number, part: number | undefined): StreamEvent[] {
    const next = this.#parts.isSpoken(itemKey(index)) ? (this.#reasoningParts.get(index) ?? 0) + 1 : 0;
    return this.#toReasoningPart(index, part ?? next);
  }

  reasoning(index: number, { form, part }: ReasoningPosition, text: string): StreamEvent[] {
    if (text === '') return [];
    const key = itemKey(index);
    this.#identify(index, 'reasoning');
    return [
      ...(part === undefined ? [] : this.#toReasoningPart(index, part)),
      ...this.#parts.start(key, index, 'reasoning', { type: 'reasoning-start', form }),
      ...this.#parts.speak(key, { type: 'reasoning-delta', text }),
    ];
  }

  wholeReasoning(index: number, { form, part = 0 }: ReasoningPosition, text: string): StreamEvent[] {
    const isSaid = this.#parts.isSpoken(itemKey(index)) && (this.#reasoningParts.get(index) ?? 0) >= part;
    return isSaid ? [] : this.reasoning(index, { form, part }, text);
  }

  call(index: number, text: string, isCustom: boolean): StreamEvent[] {
    const call = this.#callAt(index, isCustom);
    const key = itemKey(index);
    if (text === '') return [];
    if (this.#parts.has(key)) return this.#parts.speak(key, { type: 'tool-call-delta', text });
    call.waiting += text;
    return [];
  }

  wholeCall(index: number, text: string, isCustom: boolean): StreamEvent[] {
    const isSaid = this.#parts.isSpoken(itemKey(index)) || this.#calls.get(index)?.waiting;
    return isSaid ? [] : this.call(index, text, isCustom);
  }

  #callAt(index: number, isCustom: boolean): Call {
    const known = this.#calls.get(index);
    if (known !== undefined) return known;
    const call: Call = { id: '', name: '', namespace: '', isCustom, waiting: '' };
    this.#calls.set(index, call);
    this.#identify(index, isCustom ? 'custom_tool_call' : 'function_call');
    return call;
  }

  #announceCall(index: number, item: Item): StreamEvent[] {
    const call = this.#callAt(index, item.type === 'custom_tool_call');
    call.id ||= textAt(item, 'call_id') ?? '';
    call.name ||= textAt(item, 'name') ?? '';
    call.namespace ||= textAt(item, 'namespace') ?? '';
    return this.#startCall(index, false);
  }

  /** @throws GatewayError for a call that is over without a name: nobody could run it */
  #startCall(index: number, isOver: boolean): StreamEvent[] {
    const call = this.#calls.get(index);
    const key = itemKey(index);
    if (call === undefined || this.#parts.has(key)) return [];
    const { id, name, namespace, isCustom, waiting } = call;
    if (isOver && name === '') throw upstreamNonsense();
    if (!isOver && (name === '' || id === '')) return [];
    this.seen.calls = true;
    const more = { ...(isCustom && { custom: true }), ...(namespace !== '' && { namespace }) };
    const out = this.#parts.start(key, index, 'tool-call', { type: 'tool-call-start', id, name, ...more });
    if (waiting === '') return out;
    return [...out, ...this.#parts.speak(key, { type: 'tool-call-delta', text: waiting })];
  }

  /** A call that has ended without arguments stays open until the last event, which may have them. */
  #callDone(index: number, item: Item): StreamEvent[] {
    const key = itemKey(index);
    return [
      ...this.#announceCall(index, item),
      ...this.#startCall(index, true),
      ...this.wholeCall(index, argumentsOf(item), item.type === 'custom_tool_call'),
      ...(this.#parts.isSpoken(key) ? this.#parts.end(key) : []),
    ];
  }

  #startSearch(index: number): StreamEvent[] {
    if (this.#parts.has(itemKey(index))) return [];
    return this.#parts.start(itemKey(index), index, 'web-search', { type: 'web-search-start' });
  }

  #reasoningDone(index: number, item: Item): StreamEvent[] {
    const key = itemKey(index);
    const { summary, content } = readUpstream(ResponsesOutputItem.reasoning, item);
    const form = content?.length ? 'trace' : 'summary';
    const texts = ((form === 'trace' ? content : summary) ?? []).filter(({ text }) => text !== '');
    const missing = this.#parts.isSpoken(key) ? [] : texts;
    if (missing.length === 0 && this.#parts.has(key) && !this.#parts.isOpen(key)) return [];
    return [
      ...missing.flatMap(({ text }, part) => this.reasoning(index, { form, part }, text)),
      ...this.#parts.start(key, index, 'reasoning', { type: 'reasoning-start', form }),
      ...this.#parts.close(key, { type: 'reasoning-end', payload: sealOf(item, this.#target) }),
    ];
  }

  /** The words and the citations of content that no earlier event gave. `first` is the index of its first part. */
  #content(index: number, content: ReturnType<typeof contentOf>, first = 0): StreamEvent[] {
    // Servers number the parts of an item in different ways.
    const spoken = this.#parts.spoken(index);
    return content.flatMap((part, offset) => {
      const at = first + offset;
      const key = partKey(index, at);
      if (!this.#parts.has(key) && offset < spoken - first) return [];
      if (part.type === 'refusal') return this.wholeRefusal(index, at, part.refusal);
      const words = this.wholeText(index, at, part.text, part.logprobs);
      const given = this.#citations.has(key) ? [] : (part.annotations ?? []);
      const citations = given.flatMap((annotation) => decodeAnnotation(annotation) ?? []);
      return [...words, ...citations.flatMap((citation) => this.citation(index, at, citation))];
    });
  }

  #toReasoningPart(index: number, part: number): StreamEvent[] {
    const isAnother = (this.#reasoningParts.get(index) ?? 0) !== part;
    this.#reasoningParts.set(index, part);
    if (!isAnother || !this.#parts.isSpoken(itemKey(index))) return [];
    return this.#parts.add(itemKey(index), { type: 'reasoning-break' });
  }

  #words(index: number, content: number, delta: StreamEvent & { type: 'text-delta' | 'refusal-delta' }) {
    if (delta.text === '') return [];
    this.#identify(index, 'message');
    const key = partKey(index, content);
    const kind = delta.type === 'text-delta' ? 'text' : 'refusal';
    const early = this.#citations.get(key) ?? [];
    return [
      ...this.#parts.start(key, index, kind, { type: `${kind}-start` }),
      ...this.#parts.speak(key, delta),
      ...early.splice(0).flatMap((citation) => this.#parts.add(key, { type: 'text-citation', citation })),
    ];
  }

  #identify(index: number, type: string): void {
    if (!this.#items.has(index)) this.#items.set(index, { type, id: null, callId: null });
  }
}

const itemKey = (index: number): string => `${index}`;
const partKey = (index: number, content: number): string => `${index}.${content}`;
