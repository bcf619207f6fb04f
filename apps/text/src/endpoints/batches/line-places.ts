import type { JobShare } from '@gateway/contracts/identity';

/** Whose line is to be at work. */
interface LineOwner {
  readonly keyId: string;
  readonly share: JobShare;
}

interface WaitingLine extends LineOwner {
  readonly begin: () => void;
}

const DEFAULT_WEIGHT = 1;
const weightOf = ({ jobWeight = DEFAULT_WEIGHT }: JobShare): number => jobWeight;

/**
 * How many lines of batches one process has at work at a time. What becomes free goes to the key that has fewest at work for its weight,
 * of those that wait and may have more.
 */
export class LinePlaces {
  readonly most: number;
  readonly #waiting: WaitingLine[] = [];
  readonly #atWork = new Map<string, number>();
  #free: number;

  constructor(most: number) {
    this.most = most;
    this.#free = most;
  }

  /** Waits for a place, which is given back when the result is disposed of. Rejects when the signal aborts. */
  async take(owner: LineOwner, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    const begun = Promise.withResolvers<void>();
    const mine = { ...owner, begin: begun.resolve };
    this.#waiting.push(mine);
    const leave = () => {
      const at = this.#waiting.indexOf(mine);
      if (at === -1) return;
      this.#waiting.splice(at, 1);
      begun.reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#fill();
    try {
      await begun.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
    const { keyId } = owner;
    return {
      [Symbol.dispose]: () => {
        this.#free += 1;
        const left = this.#of(keyId) - 1;
        if (left > 0) this.#atWork.set(keyId, left);
        else this.#atWork.delete(keyId);
        this.#fill();
      },
    };
  }

  #of(keyId: string): number {
    return this.#atWork.get(keyId) ?? 0;
  }

  #fill(): void {
    while (this.#free > 0) {
      const next = this.#next();
      if (next === undefined) return;
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      this.#free -= 1;
      this.#atWork.set(next.keyId, this.#of(next.keyId) + 1);
      next.begin();
    }
  }

  /** The first of those whose key has least. */
  #next(): WaitingLine | undefined {
    let first: WaitingLine | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const line of this.#waiting) {
      const atWork = this.#of(line.keyId);
      if (atWork >= (line.share.concurrentJobs ?? Number.POSITIVE_INFINITY)) continue;
      const has = atWork / weightOf(line.share);
      if (has >= least) continue;
      first = line;
      least = has;
    }
    return first;
  }
}
