import type { AssetStores } from '@gateway/assets/asset-store';
import { openAssetStores } from '@gateway/assets/open-asset-stores';
import { type JobStores, openJobStores } from '@gateway/jobs/files/job-stores';
import type { Started } from '@gateway/service-kit/start-service';
import type { FileSettings, ModelSettings } from '../settings.ts';

type FileProcess = Pick<Started<ModelSettings & FileSettings>, 'config' | 'life'>;

/** Where files lie. */
export type FilePlace = FileSettings & Pick<ModelSettings, 'GATEWAY_DATA_DIR'>;

const locationIn = (config: FilePlace) => ({
  url: config.ASSETS_URL ?? config.GATEWAY_DATA_DIR,
  publicEndpoint: config.ASSETS_PUBLIC_ENDPOINT,
  endpoint: config.AWS_ENDPOINT_URL_S3 ?? config.AWS_ENDPOINT_URL,
  region: config.AWS_REGION,
});

/** Opens the stores of files that all replicas share; who opens them closes them. */
export const openStores = (place: FilePlace): Promise<AssetStores> => openAssetStores(locationIn(place));

/** The same; the process's life closes them. */
export async function openSharedStores({ config, life }: FileProcess): Promise<AssetStores> {
  return life.own(await openStores(config), (opened) => opened.close());
}

/** Opens the stores of jobs' files; the process's life closes them. */
export async function openFileStores({ config, life }: FileProcess): Promise<JobStores> {
  const stores = await openJobStores({ ...locationIn(config), dataDir: config.GATEWAY_DATA_DIR });
  return life.own(stores, (opened) => opened.close());
}
