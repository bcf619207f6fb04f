import type { StreamEvent } from './stream-event.ts';

interface Lane {
  readonly key: string;
  readonly waiting: StreamEvent[];
  closed: boolean;
}

/**
 * Puts parts that overlap into one row. The first open part speaks at once; the others wait until it closes. Nothing
 * waits where nothing overlaps.
 */
export class PartSequence {
  /** Those that have not had their turn, in the order in which they were opened. */
  readonly #lanes = new Set<Lane>();
  readonly #open = new Map<string, Lane>();
  #first: Lane | undefined;

  /** The key of the part that is speaking. */
  get speaking(): string | undefined {
    return this.#first?.key;
  }

  /** Whether another part waits for the speaking one to close. */
  get contended(): boolean {
    return this.#lanes.size > 1;
  }

  isOpen(key: string): boolean {
    return this.#open.has(key);
  }

  open(key: string, event: StreamEvent): StreamEvent[] {
    const lane: Lane = { key, waiting: [], closed: false };
    this.#lanes.add(lane);
    this.#open.set(key, lane);
    this.#first ??= lane;
    return this.add(key, event);
  }

  add(key: string, event: StreamEvent): StreamEvent[] {
    if (this.#first?.key === key) return [event];
    this.#open.get(key)?.waiting.push(event);
    return [];
  }

  close(key: string, event: StreamEvent): StreamEvent[] {
    const out = this.add(key, event);
    const lane = this.#open.get(key);
    if (lane !== undefined) lane.closed = true;
    this.#open.delete(key);
    while (this.#first?.closed) {
      this.#lanes.delete(this.#first);
      [this.#first] = this.#lanes;
      for (const waited of this.#first?.waiting.splice(0) ?? []) out.push(waited);
    }
    return out;
  }
}
