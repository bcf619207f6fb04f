import type { Candidate } from '../candidate.ts';
import type { AccountState } from './accounts.ts';
import { known } from './known-value.ts';
import type { SlotPool } from './slot-pool.ts';

/** The time after which a value counts half as much. */
const HALF_LIFE_MS = 10_000;
/** Below this weight the mean shows nothing any more: a single value counts for 20 seconds. */
const MIN_WEIGHT = 0.25;

/** A mean in which old values count less and less, until it is unknown again. */
export class DecayingMean {
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
  readonly stateOf: (candidate: Candidate) => Pick<AccountState, 'loads'> & {
    readonly slots: Pick<SlotPool, 'inFlight'>;
  };
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
export const createRouteLoads = ({ stateOf, clock }: RouteLoadsOptions): RouteLoads => {
  const firstOutputMs = (candidate: Candidate, nowMs: number): number | null =>
    stateOf(candidate).loads.get(keyOf(candidate))?.at(nowMs) ?? null;

  return {
    addFirstOutput(candidate, durationMs) {
      const mean = known(stateOf(candidate).loads, keyOf(candidate), () => new DecayingMean());
      mean.add(durationMs, clock());
    },
    isLighter(other, chosen) {
      const nowMs = clock();
      const [otherMs, chosenMs] = [firstOutputMs(other, nowMs), firstOutputMs(chosen, nowMs)];
      const isKnown = otherMs !== null && chosenMs !== null;
      const usual = (other.weight + chosen.weight) / 2;
      const queueOf = (candidate: Candidate): number =>
        1 + (stateOf(candidate).slots.inFlight * usual) / candidate.weight;
      return (isKnown ? otherMs : 1) * queueOf(other) < (isKnown ? chosenMs : 1) * queueOf(chosen) * CLEARLY;
    },
  };
};

const keyOf = ({ protocol, requestedModel }: Candidate): string => `${protocol} ${requestedModel}`;
