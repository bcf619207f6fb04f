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
  #lanes: Lane[] = [];

  /** The key of the part that is speaking. */
  get speaking(): string | undefined {
    return this.#lanes[0]?.key;
  }

  /** Whether another part waits for the speaking one to close. */
  get contended(): boolean {
    return this.#lanes.length > 1;
  }

  isOpen(key: string): boolean {
    return this.#lanes.some((lane) => lane.key === key && !lane.closed);
  }

  open(key: string, event: StreamEvent): StreamEvent[] {
    this.#lanes.push({ key, waiting: [], closed: false });
    return this.add(key, event);
  }

  add(key: string, event: StreamEvent): StreamEvent[] {
    if (this.#lanes[0]?.key === key) return [event];
    this.#lanes.find((lane) => lane.key === key && !lane.closed)?.waiting.push(event);
    return [];
  }

  close(key: string, event: StreamEvent): StreamEvent[] {
    const out = this.add(key, event);
    const lane = this.#lanes.find((candidate) => candidate.key === key && !candidate.closed);
    if (lane !== undefined) lane.closed = true;
    while (this.#lanes[0]?.closed) {
      this.#lanes.shift();
      out.push(...(this.#lanes[0]?.waiting.splice(0) ?? []));
    }
    return out;
  }
}
