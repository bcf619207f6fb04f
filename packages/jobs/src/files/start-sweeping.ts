import type { AssetStore } from '@gateway/assets/asset-store';
import { JOBS } from '../catalog.ts';
import type { KeptResults } from '../results/kept-results.ts';
import type { UploadStore } from './upload-store.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const RESULTS_INTERVAL_MS = 10 * MINUTE_MS;
/** All files are looked at. */
const FILES_INTERVAL_MS = HOUR_MS;
/** Longer than any result is kept: its retention, then the life of URLs that were signed at the end of it. */
const ASSET_LIFETIME_MS =
  Math.max(...Object.values(JOBS).map(({ resultRetentionSeconds }) => resultRetentionSeconds)) * 1000 +
  2 * HOUR_MS;
/**
 * Longer than any job waits and runs. Uploads are kept this long if their service died before it queued them,
 * or if their failed job can be queued again.
 */
const UPLOAD_LIFETIME_MS =
  Math.max(...Object.values(JOBS).map(({ queueLimitMs }) => queueLimitMs)) + 2 * HOUR_MS;

interface SweepOptions {
  readonly results: Pick<KeptResults, 'sweep'>;
  readonly assets: Pick<AssetStore, 'sweep'>;
  readonly uploads: Pick<UploadStore, 'sweep'>;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Called with the counts of what was deleted, unless nothing was. */
  readonly onSwept: (counts: Readonly<Record<string, number>>) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Deletes expired results, now and every ten minutes. Deletes files that nothing refers to, now and every
 * hour: of jobs that failed halfway, of an emptied Redis, and uploads that were never queued. Several
 * processes may do this at once.
 */
export function startSweeping(options: SweepOptions): { close(): void } {
  const { results, assets, uploads, now, onSwept, onError } = options;
  const report = (name: string, sweeping: Promise<number>) =>
    sweeping.then((count) => {
      if (count > 0) onSwept({ [name]: count });
    }, onError);
  const sweepResults = () => void report('results', results.sweep());
  const sweepFiles = () => {
    void report('assets', assets.sweep(now() - ASSET_LIFETIME_MS));
    void report('uploads', uploads.sweep(now() - UPLOAD_LIFETIME_MS));
  };
  sweepResults();
  sweepFiles();
  const timers = [setInterval(sweepResults, RESULTS_INTERVAL_MS), setInterval(sweepFiles, FILES_INTERVAL_MS)];
  return { close: () => timers.forEach(clearInterval) };
}
