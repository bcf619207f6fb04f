import type { AssetStore } from '@gateway/assets/asset-store';
import type { UploadStore } from './upload-store.ts';

const MINUTE_MS = 60_000;
const INTERVAL_MS = 10 * MINUTE_MS;
/** A result is remembered for an hour, and a URL given out at the end of it lives for another. */
const ASSET_LIFETIME_MS = 130 * MINUTE_MS;
/** Longer than any job waits; only uploads whose service died before it queued them are left that long. */
const UPLOAD_LIFETIME_MS = 24 * 60 * MINUTE_MS;

interface SweepOptions {
  readonly assets: Pick<AssetStore, 'sweep'>;
  readonly uploads: Pick<UploadStore, 'sweep'>;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

/** Deletes expired assets and forgotten uploads, now and every ten minutes. Several processes may do so at once. */
export function startSweeping({ assets, uploads, now, onError }: SweepOptions): { close(): void } {
  const sweep = () => {
    assets.sweep(now() - ASSET_LIFETIME_MS).catch(onError);
    uploads.sweep(now() - UPLOAD_LIFETIME_MS).catch(onError);
  };
  sweep();
  const timer = setInterval(sweep, INTERVAL_MS);
  return { close: () => clearInterval(timer) };
}
