import type { Candidate } from '../candidate.ts';
import type { AccountState } from '../choosing/accounts.ts';
import { known } from '../choosing/known-value.ts';
import type { Hedge } from '../configuration/configuration.ts';
import { FirstOutputTimes } from './first-output-times.ts';

const QUANTILE = 0.95;
/** The most hedges that may follow one another after a quiet time. */
const MAX_SAVED = 10;

/** When a request is hedged, by what its process knows. */
export class Hedger {
  readonly #stateOf: (candidate: Candidate) => Pick<AccountState, 'times'>;
  /** Hedges that each model may still make. */
  readonly #saved = new Map<string, { hedges: number }>();

  constructor(stateOf: (candidate: Candidate) => Pick<AccountState, 'times'>) {
    this.#stateOf = stateOf;
  }

  /** Counts a request of this model that may be hedged: so many of them allow one hedge. */
  count({ route, requestedModel }: Candidate): void {
    const saved = known(this.#saved, requestedModel, () => ({ hedges: 0 }));
    saved.hedges = Math.min(MAX_SAVED, saved.hedges + (route.hedge?.maxShare ?? 0));
  }

  /** Takes one of the model's hedges; false where none is left. */
  take({ requestedModel }: Candidate): boolean {
    const saved = this.#saved.get(requestedModel);
    if (saved === undefined || saved.hedges < 1) return false;
    saved.hedges -= 1;
    return true;
  }

  /** The time until a candidate's first output, or the time after which nobody waited for it any more. */
  observe(candidate: Candidate, streamed: boolean, ms: number): void {
    const { times } = this.#stateOf(candidate);
    known(times, keyOf(candidate, streamed), () => new FirstOutputTimes()).observe(ms);
  }

  /** After how long another candidate is called beside this one; null while too little is known. */
  delayMs(
    candidate: Candidate,
    { minSamples, minDelayMs, maxDelayMs }: Hedge,
    streamed: boolean,
  ): number | null {
    const times = this.#stateOf(candidate).times.get(keyOf(candidate, streamed));
    if (times === undefined || times.count < minSamples) return null;
    return Math.min(maxDelayMs, Math.max(minDelayMs, times.quantile(QUANTILE)));
  }
}

/** A whole reply's first output is all of it, so that its times are its own. */
const keyOf = ({ model }: Candidate, streamed: boolean): string =>
  `${streamed ? 'stream' : 'whole'} ${model}`;
