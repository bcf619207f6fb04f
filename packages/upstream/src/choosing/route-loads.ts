import type { Candidate } from '../candidate.ts';

/** The time after which a value counts half as much. */
const HALF_LIFE_MS = 10_000;
/** Below this weight the mean shows nothing any more: a single value counts for 20 seconds. */
const MIN_WEIGHT = 0.25;

/** A mean in which old values count less and less, until it is unknown again. */
class DecayingMean {
  #sum = 0;
  #weight = 0;
  #atMs = 0;

  /** Both in milliseconds; `nowMs` never goes back. */
  add(valueMs: number, nowMs: number): void {
    const kept = this.#keptAt(nowMs);
    this.#sum = this.#sum * kept + valueMs;
    this.#weight = this.#weight * kept + 1;
    this.#atMs = nowMs;
  }

  /** Null while the mean is not known. */
  at(nowMs: number): number | null {
    return this.#weight * this.#keptAt(nowMs) < MIN_WEIGHT ? null : this.#sum / this.#weight;
  }

  #keptAt(nowMs: number): number {
    return 2 ** (-(nowMs - this.#atMs) / HALF_LIFE_MS);
  }
}

/** How busy candidates are, as far as this process knows. */
export interface RouteLoads {
  /** Adds the time from a streamed request to its first output. The time of a whole reply depends on its length and shows nothing. */
  addFirstOutput(candidate: Candidate, durationMs: number): void;
  /** Whether `other` is clearly less loaded than `chosen`. */
  isLighter(other: Candidate, chosen: Candidate): boolean;
}

interface RouteLoadsOptions {
  /** Requests to this account that have not ended. */
  readonly inFlight: (candidate: Candidate) => number;
  /** Milliseconds that never go back, as `performance.now`. */
  readonly clock: () => number;
}

/** Smaller differences are chance, and would override the weights. */
const CLEARLY = 0.8;

/**
 * A candidate's load is its recent time to first output, once, and once more for each request in flight. A
 * candidate of twice the weight has the same load with twice the requests. While one of the two times is
 * unknown, only the requests count.
 */
export const createRouteLoads = ({ inFlight, clock }: RouteLoadsOptions): RouteLoads => {
  // The catalog gives the same candidates for the same model and protocol, until the configuration changes.
  const firstOutputs = new WeakMap<Candidate, DecayingMean>();

  return {
    addFirstOutput(candidate, durationMs) {
      let mean = firstOutputs.get(candidate);
      if (mean === undefined) {
        mean = new DecayingMean();
        firstOutputs.set(candidate, mean);
      }
      mean.add(durationMs, clock());
    },
    isLighter(other, chosen) {
      const now = clock();
      const otherMs = firstOutputs.get(other)?.at(now) ?? null;
      const chosenMs = firstOutputs.get(chosen)?.at(now) ?? null;
      const isKnown = otherMs !== null && chosenMs !== null;
      const usual = (other.weight + chosen.weight) / 2;
      const queueOf = (candidate: Candidate): number => 1 + (inFlight(candidate) * usual) / candidate.weight;
      return (isKnown ? otherMs : 1) * queueOf(other) < (isKnown ? chosenMs : 1) * queueOf(chosen) * CLEARLY;
    },
  };
};
