import type { Candidate } from '../candidate.ts';
import type { Hedge } from '../configuration/configuration.ts';
import { FirstOutputTimes } from './first-output-times.ts';

const QUANTILE = 0.95;
/** Estimates and shares that are remembered, each; there are as many as models at channels. */
const MAX_KNOWN = 2_000;
/** The most hedges that may follow one another after a quiet time. */
const MAX_SAVED = 10;

/** What hedging knows of the channels and models of one process. */
export class Hedger {
  readonly #times = new Map<string, FirstOutputTimes>();
  /** Hedges that each model may still make. */
  readonly #saved = new Map<string, number>();

  /** Counts a request of this model that may be hedged: so many of them allow one hedge. */
  count({ route, requestedModel }: Candidate): void {
    const saved = this.#saved.get(requestedModel) ?? 0;
    if (this.#saved.size >= MAX_KNOWN) this.#saved.clear();
    this.#saved.set(requestedModel, Math.min(MAX_SAVED, saved + (route.hedge?.maxShare ?? 0)));
  }

  /** Takes one of the model's hedges; false where none is left. */
  take({ requestedModel }: Candidate): boolean {
    const saved = this.#saved.get(requestedModel) ?? 0;
    if (saved < 1) return false;
    this.#saved.set(requestedModel, saved - 1);
    return true;
  }

  /** The time until a candidate's first output, or the time after which nobody waited for it any more. */
  observe(candidate: Candidate, streamed: boolean, ms: number): void {
    const key = keyOf(candidate, streamed);
    let times = this.#times.get(key);
    if (times === undefined) {
      if (this.#times.size >= MAX_KNOWN) this.#times.clear();
      times = new FirstOutputTimes();
      this.#times.set(key, times);
    }
    times.observe(ms);
  }

  /** After how long another candidate is called beside this one; null while too little is known. */
  delayMs(
    candidate: Candidate,
    { minSamples, minDelayMs, maxDelayMs }: Hedge,
    streamed: boolean,
  ): number | null {
    const times = this.#times.get(keyOf(candidate, streamed));
    if (times === undefined || times.count < minSamples) return null;
    return Math.min(maxDelayMs, Math.max(minDelayMs, times.quantile(QUANTILE)));
  }
}

/** A whole reply's first output is all of it, so that its times are its own. */
const keyOf = ({ channel, model }: Candidate, streamed: boolean): string =>
  `${channel.name} ${streamed ? 'stream' : 'whole'} ${model}`;
