/** A place in the sequences: what has come is their beginning up to here. */
interface State {
  readonly next: Map<number, State>;
  /** How many characters have come. */
  readonly depth: number;
  /** Where to go on if the next character does not fit: the longest other beginning that has come as well. */
  fallback: State | null;
  /** The longest sequence that ends here. */
  whole: string | null;
}

interface Match {
  readonly sequence: string;
  /** How many characters of the last piece belong to it, or to what came before. */
  readonly end: number;
}

const stateAt = (depth: number): State => ({ next: new Map(), depth, fallback: null, whole: null });

/**
 * Finds sequences in a text that comes in pieces, each character looked at once however many sequences there are
 * (Aho and Corasick's automaton). The match that is complete first counts; of two complete at once, the longer. So
 * chunking cannot change the result.
 */
export class SequenceMatcher {
  readonly #root = stateAt(0);
  #state = this.#root;

  constructor(sequences: readonly string[]) {
    for (const sequence of sequences) this.#add(sequence);
    this.#link();
  }

  /** How many characters at the end of what has come could be the beginning of a sequence. */
  get begun(): number {
    return this.#state.depth;
  }

  /** The first sequence that this piece completes. */
  next(piece: string): Match | null {
    for (let at = 0; at < piece.length; at += 1) {
      this.#state = this.#after(this.#state, piece.charCodeAt(at));
      const { whole } = this.#state;
      if (whole !== null) return { sequence: whole, end: at + 1 };
    }
    return null;
  }

  /** What comes now does not continue what has come. */
  restart(): void {
    this.#state = this.#root;
  }

  #add(sequence: string): void {
    let state = this.#root;
    for (let at = 0; at < sequence.length; at += 1) {
      const unit = sequence.charCodeAt(at);
      const known = state.next.get(unit) ?? stateAt(at + 1);
      state.next.set(unit, known);
      state = known;
    }
    state.whole = sequence;
  }

  /** Shorter beginnings come first: a fallback is always known already. */
  #link(): void {
    let level: State[] = [this.#root];
    while (level.length > 0) {
      const deeper: State[] = [];
      for (const state of level)
        for (const [unit, next] of state.next) {
          next.fallback = state.fallback === null ? this.#root : this.#after(state.fallback, unit);
          next.whole ??= next.fallback.whole;
          deeper.push(next);
        }
      level = deeper;
    }
  }

  #after(from: State, unit: number): State {
    let state: State | null = from;
    while (state !== null) {
      const next = state.next.get(unit);
      if (next !== undefined) return next;
      state = state.fallback;
    }
    return this.#root;
  }
}
