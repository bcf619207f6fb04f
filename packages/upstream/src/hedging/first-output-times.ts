/** Each bucket is wider than the one before by this factor: an estimate is off by a tenth at most. */
const GROWTH = 1.1;
const MIN_MS = 1;
/** Ten minutes. */
const BUCKETS = 140;
/** What an observation counts after each later one: after two hundred of them, a third. */
const DECAY = 0.995;
/** Weights grow instead of all buckets being decayed; beyond this they are scaled down together. */
const MAX_WEIGHT = 1e9;

const bucketOf = (ms: number): number =>
  Math.min(BUCKETS - 1, Math.max(0, Math.ceil(Math.log(Math.max(ms, MIN_MS) / MIN_MS) / Math.log(GROWTH))));

/** How long first outputs take, the recent ones above all: a histogram in which old observations fade. */
export class FirstOutputTimes {
  readonly #buckets = new Float64Array(BUCKETS);
  #total = 0;
  #weight = 1;
  /** How many observations there were. */
  count = 0;

  observe(ms: number): void {
    const bucket = bucketOf(ms);
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + this.#weight;
    this.#total += this.#weight;
    this.count += 1;
    this.#weight /= DECAY;
    if (this.#weight > MAX_WEIGHT) this.#scaleDown();
  }

  /** The time in milliseconds within which this share of them comes, at most a tenth too high; 0 without observations. */
  quantile(share: number): number {
    let left = this.#total * share;
    if (left === 0) return 0;
    for (const [bucket, weight] of this.#buckets.entries()) {
      left -= weight;
      if (left <= 0) return MIN_MS * GROWTH ** bucket;
    }
    return MIN_MS * GROWTH ** (BUCKETS - 1);
  }

  #scaleDown(): void {
    for (const [bucket, weight] of this.#buckets.entries()) this.#buckets[bucket] = weight / this.#weight;
    this.#total /= this.#weight;
    this.#weight = 1;
  }
}
