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
  readonly #lanes: Lane[] = [];
  /** The index of the first of them. */
  #turn = 0;
  readonly #open = new Map<string, Lane>();

  /** The key of the part that is speaking. */
  get speaking(): string | undefined {
    return this.#speaking?.key;
  }

  /** Whether another part waits for the speaking one to close. */
  get contended(): boolean {
    return this.#lanes.length - this.#turn > 1;
  }

  isOpen(key: string): boolean {
    return this.#open.has(key);
  }

  open(key: string, event: StreamEvent): StreamEvent[] {
    const lane: Lane = { key, waiting: [], closed: false };
    this.#lanes.push(lane);
    this.#open.set(key, lane);
    return this.add(key, event);
  }

  add(key: string, event: StreamEvent): StreamEvent[] {
    if (this.#speaking?.key === key) return [event];
    this.#open.get(key)?.waiting.push(event);
    return [];
  }

  close(key: string, event: StreamEvent): StreamEvent[] {
    const out = this.add(key, event);
    const lane = this.#open.get(key);
    if (lane !== undefined) lane.closed = true;
    this.#open.delete(key);
    while (this.#speaking?.closed) {
      this.#turn += 1;
      for (const waited of this.#speaking?.waiting.splice(0) ?? []) out.push(waited);
    }
    // What had its turn is kept no longer than the others wait.
    if (this.#turn === this.#lanes.length) this.#turn = this.#lanes.length = 0;
    return out;
  }

  get #speaking(): Lane | undefined {
    return this.#lanes[this.#turn];
  }
}
