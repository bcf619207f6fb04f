import type { AssetStore } from '@gateway/assets/asset-store';
import { type AssetStoresOptions, openAssetStores } from '@gateway/assets/open-asset-stores';
import { openUploadStore, type UploadStore } from './upload-store.ts';

export interface JobStoresOptions extends Omit<AssetStoresOptions, 'url'> {
  /** GATEWAY_DATA_DIR: for files of this machine. */
  readonly dataDir: string;
  /** Where services and workers find each other's files. Absent: in the data folder. */
  readonly url?: string | undefined;
}

/** The stores of jobs' inputs and outputs. Services and workers open the same. */
export interface JobStores {
  readonly uploads: UploadStore;
  readonly assets: AssetStore;
  close(): void;
}

/** @throws {ConfigError} when an S3 store does not answer */
export async function openJobStores({
  dataDir,
  url = dataDir,
  ...options
}: JobStoresOptions): Promise<JobStores> {
  const stores = await openAssetStores({ ...options, url });
  return {
    uploads: await openUploadStore(stores, dataDir),
    assets: await stores.open('assets'),
    close: () => stores.close(),
  };
}
