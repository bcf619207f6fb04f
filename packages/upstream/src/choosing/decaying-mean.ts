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

  /** Null while it is not known. */
  at(nowMs: number): number | null {
    return this.#weight * this.#keptAt(nowMs) < MIN_WEIGHT ? null : this.#sum / this.#weight;
  }

  #keptAt(nowMs: number): number {
    return 2 ** (-(nowMs - this.#atMs) / HALF_LIFE_MS);
  }
}
