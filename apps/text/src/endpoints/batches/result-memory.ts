import { type ByteBudget, type ByteLoan, createByteBudget } from '@gateway/jobs/worker/byte-budget';

const MEBIBYTE = 1024 * 1024;
/** A result as bytes, as text, and as it is written. */
const COPIES = 3;

/** What the results of all batches may hold of a process's memory while they are read and written. */
export interface ResultMemory {
  readonly results: ByteBudget;
  /** For lines of a provider's results that are large, until their size is known. */
  readonly largeLines: ByteBudget;
}

export const createResultMemory = (maxBytes = 256 * MEBIBYTE): ResultMemory => ({
  results: createByteBudget(maxBytes),
  largeLines: createByteBudget(maxBytes / 2),
});

/** Waits until a result of this size may be held. */
export const holdResult = (
  { results }: Pick<ResultMemory, 'results'>,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<ByteLoan> => results.take(COPIES * sizeBytes, signal);

/** One result's turn to be held. */
interface ResultTurn {
  /** Resolves when it may be read. */
  hold(sizeBytes: number): Promise<void>;
  /** It is not read, or has been written. */
  end(): void;
}

/**
 * Results that are read several at a time and written in their order: they are held in that order, too, so that the first one never
 * waits for those after it.
 */
export class OrderedResults {
  readonly #memory: ResultMemory;
  readonly #closing = new AbortController();
  readonly #signal: AbortSignal;
  readonly #held = new Set<ByteLoan>();
  #last: Promise<void> = Promise.resolve();

  constructor(memory: ResultMemory, signal: AbortSignal) {
    this.#memory = memory;
    this.#signal = AbortSignal.any([signal, this.#closing.signal]);
  }

  /** To be called in the order of the results. */
  turn(): ResultTurn {
    const before = this.#last;
    const passed = Promise.withResolvers<void>();
    this.#last = passed.promise;
    let loan: ByteLoan | null = null;
    return {
      hold: async (sizeBytes) => {
        try {
          await before;
          loan = await holdResult(this.#memory, sizeBytes, this.#signal);
        } finally {
          passed.resolve(before);
        }
        this.#held.add(loan);
        if (this.#closing.signal.aborted) this.#release(loan);
      },
      end: () => {
        passed.resolve(before);
        if (loan !== null) this.#release(loan);
      },
    };
  }

  /** Nothing more is read, and nothing is held any more. */
  close(): void {
    this.#closing.abort(new Error('the results are no longer written'));
    for (const loan of this.#held) this.#release(loan);
  }

  #release(loan: ByteLoan): void {
    if (this.#held.delete(loan)) loan[Symbol.dispose]();
  }
}
