import type { PartSequence } from '../../../neutral/reply/part-sequence.ts';
import type { StreamEvent } from '../../../neutral/reply/stream-event.ts';

type Kind = 'text' | 'refusal' | 'reasoning' | 'tool-call' | 'web-search';

interface Part {
  readonly kind: Kind;
  readonly item: number;
  isOpen: boolean;
  /** Whether its words have come, so that those of later events are not taken again. */
  isSpoken: boolean;
}

/** The parts of one item. */
interface ItemParts {
  readonly keys: string[];
  ended: number;
  spoken: number;
}

/** The parts of a streamed answer, those that have ended too: a later event may repeat them. */
export class SpokenParts {
  readonly #sequence: PartSequence;
  readonly #parts = new Map<string, Part>();
  readonly #items = new Map<number, ItemParts>();

  constructor(sequence: PartSequence) {
    this.#sequence = sequence;
  }

  has(key: string): boolean {
    return this.#parts.has(key);
  }

  isOpen(key: string): boolean {
    return this.#parts.get(key)?.isOpen ?? false;
  }

  isSpoken(key: string): boolean {
    return this.#parts.get(key)?.isSpoken ?? false;
  }

  /** How many parts of an item have ended. */
  ended(item: number): number {
    return this.#items.get(item)?.ended ?? 0;
  }

  /** How many parts of an item have had words. */
  spoken(item: number): number {
    return this.#items.get(item)?.spoken ?? 0;
  }

  /** Opens a part, unless it is open. */
  start(key: string, item: number, kind: Kind, event: StreamEvent): StreamEvent[] {
    const known = this.#parts.get(key);
    if (known?.isOpen) return [];
    const parts = this.#items.get(item) ?? { keys: [], ended: 0, spoken: 0 };
    if (known === undefined) parts.keys.push(key);
    else parts.ended -= 1;
    this.#items.set(item, parts);
    this.#parts.set(key, { kind, item, isOpen: true, isSpoken: known?.isSpoken ?? false });
    return this.#sequence.open(key, event);
  }

  /** Words of an open part. */
  speak(key: string, event: StreamEvent): StreamEvent[] {
    const part = this.#parts.get(key);
    if (part?.isSpoken === false) {
      part.isSpoken = true;
      this.#itemOf(part).spoken += 1;
    }
    return this.add(key, event);
  }

  /** Anything else of an open part. */
  add(key: string, event: StreamEvent): StreamEvent[] {
    return this.isOpen(key) ? this.#sequence.add(key, event) : [];
  }

  close(key: string, event: StreamEvent): StreamEvent[] {
    const part = this.#parts.get(key);
    if (!part?.isOpen) return [];
    part.isOpen = false;
    this.#itemOf(part).ended += 1;
    return this.#sequence.close(key, event);
  }

  /** Closes what the upstream left open. */
  end(key: string): StreamEvent[] {
    if (!this.isOpen(key)) return [];
    const { kind } = this.#known(key);
    if (kind !== 'web-search') return this.close(key, { type: `${kind}-end` });
    const search = { type: 'web-search', status: 'failed', queries: [], sources: [] } as const;
    return this.close(key, { type: 'web-search-end', search });
  }

  endItem(item: number): StreamEvent[] {
    return this.#items.get(item)?.keys.flatMap((key) => this.end(key)) ?? [];
  }

  endAll(): StreamEvent[] {
    return [...this.#parts.keys()].flatMap((key) => this.end(key));
  }

  #known(key: string): Part {
    const part = this.#parts.get(key);
    if (part === undefined) throw new Error('a part that was never opened');
    return part;
  }

  #itemOf({ item }: Part): ItemParts {
    const parts = this.#items.get(item);
    if (parts === undefined) throw new Error('a part of no item');
    return parts;
  }
}
