import type { UsageRecord } from '@gateway/contracts/usage/usage-record';

/** What is measured of requests that ended well, by the letter that stands for it in a field's name. */
export const LATENCIES = { firstOutputMs: 'f', totalMs: 't' } as const;
export type Latency = keyof typeof LATENCIES;

/**
 * Bucket `n` counts what took up to 10^(n/5) ms and more than the one before: each bound is 1.585 times the one before it. The
 * last one holds what took longer than 17 minutes.
 */
const BUCKETS_PER_TEN = 5;
const LAST_BUCKET = 31;

const bucketOf = (ms: number): number =>
  ms <= 1 ? 0 : Math.min(LAST_BUCKET, Math.ceil(Math.log10(ms) * BUCKETS_PER_TEN - 1e-9));

const boundOf = (bucket: number): number => 10 ** (bucket / BUCKETS_PER_TEN);

/** The longest time of each bucket but the last, in ms, with room for rounding as `bucketOf` has it. */
export const BUCKET_BOUNDS: readonly number[] = Array.from({ length: LAST_BUCKET }, (_, bucket) =>
  Number((boundOf(bucket) * (1 + 1e-9)).toPrecision(15)),
);

/** The buckets that a record counts in, as the ends of fields' names: `f13`, `t17`. */
export function latencyBuckets({ outcome, firstByteMs, durationMs }: UsageRecord): string[] {
  if (outcome !== 'ok') return [];
  const total = `${LATENCIES.totalMs}${bucketOf(durationMs)}`;
  return firstByteMs === null ? [total] : [`${LATENCIES.firstOutputMs}${bucketOf(firstByteMs)}`, total];
}

const BUCKET = /^([ft])(\d{1,2})$/;

/** How many requests took how long, by bucket. Histograms of any groups and hours are merged by adding them up. */
export class Histogram {
  readonly #counts = new Array<number>(LAST_BUCKET + 1).fill(0);

  add(bucket: number, count: number): void {
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count;
  }

  /**
   * The time within which this share of the requests were done, in ms; null without requests. Requests are taken to lie evenly on
   * the log scale of their bucket, so the answer is off by less than the bucket's width: a factor of 1.585.
   */
  quantile(share: number): number | null {
    const total = this.#counts.reduce((sum, count) => sum + count, 0);
    if (total === 0) return null;
    const rank = Math.max(1, share * total);
    let before = 0;
    for (const [bucket, count] of this.#counts.entries()) {
      if (before + count >= rank) {
        const within = (rank - before) / count;
        return Math.round(bucket === 0 ? 1 : boundOf(bucket - 1 + within));
      }
      before += count;
    }
    return Math.round(boundOf(LAST_BUCKET));
  }
}

/** The latency and bucket of a field's end; undefined for anything else. */
export function parseBucket(text: string): { latency: Latency; bucket: number } | undefined {
  const [, letter, digits] = BUCKET.exec(text) ?? [];
  const bucket = Number(digits);
  if (letter === undefined || bucket > LAST_BUCKET) return undefined;
  return { latency: letter === LATENCIES.firstOutputMs ? 'firstOutputMs' : 'totalMs', bucket };
}
