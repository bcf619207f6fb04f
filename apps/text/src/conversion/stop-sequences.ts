import type { Finish } from '../neutral/reply/reply.ts';
import type { StreamEvent } from '../neutral/reply/stream-event.ts';
import type { StreamStep } from '../wire/stream/step.ts';
import { NO_USAGE, type Usage } from '../wire/usage.ts';
import { SequenceMatcher } from './sequence-matcher.ts';

/**
 * Cuts the visible text at the first stop sequence, for upstreams that cannot. A suffix that could begin a sequence is
 * held back until it is decided. After a match everything is swallowed until the end, whose usage still counts.
 */
export class StopSequenceStep implements StreamStep<StreamEvent, StreamEvent> {
  readonly #matcher: SequenceMatcher;
  #held = '';
  #matched: string | undefined;
  #finished = false;
  #usage: Usage = NO_USAGE;

  constructor(sequences: readonly string[]) {
    this.#matcher = new SequenceMatcher(sequences.filter((sequence) => sequence !== ''));
  }

  /** Whether the answer is over although the upstream still talks. */
  get matched(): boolean {
    return this.#matched !== undefined;
  }

  *event(event: StreamEvent): Generator<StreamEvent> {
    if ('usage' in event) this.#usage = event.usage;
    if (this.#matched !== undefined) {
      if (event.type === 'finish') yield* this.#finish(event.serviceTier);
      else if (event.type === 'ping') yield event;
      return;
    }
    if (event.type === 'text-delta') yield* this.#text(event);
    else {
      if (event.type === 'text-end') yield* this.#release();
      yield event;
    }
  }

  *end(): Generator<StreamEvent> {
    if (this.#matched !== undefined) yield* this.#finish(undefined);
  }

  *#text(event: StreamEvent & { type: 'text-delta' }): Generator<StreamEvent> {
    const text = this.#held + event.text;
    const match = this.#matcher.next(event.text);
    if (match === null) {
      const keep = this.#matcher.begun;
      this.#held = text.slice(text.length - keep);
      const sayable = text.slice(0, text.length - keep);
      if (sayable !== '') yield { ...event, text: sayable };
      return;
    }
    const start = this.#held.length + match.end - match.sequence.length;
    this.#held = '';
    this.#matched = match.sequence;
    if (start > 0) yield { ...event, text: text.slice(0, start) };
    yield { type: 'text-end' };
  }

  *#release(): Generator<StreamEvent> {
    if (this.#held !== '') yield { type: 'text-delta', text: this.#held };
    this.#held = '';
    this.#matcher.restart();
  }

  *#finish(serviceTier: string | undefined): Generator<StreamEvent> {
    if (this.#finished) return;
    this.#finished = true;
    const finish: Finish = { reason: 'stop-sequence', stopSequence: this.#matched };
    yield { type: 'finish', finish, usage: this.#usage, serviceTier };
  }
}
