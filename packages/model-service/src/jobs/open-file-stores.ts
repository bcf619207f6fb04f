import { type JobStores, openJobStores } from '@gateway/jobs/job-stores';
import type { Started } from '@gateway/service-kit/start-service';
import type { FileSettings, ModelSettings } from '../settings.ts';

/** Opens the place where jobs' files lie; the process's life closes it. */
export async function openFileStores({
  config,
  life,
}: Pick<Started<ModelSettings & FileSettings>, 'config' | 'life'>): Promise<JobStores> {
  const stores = await openJobStores({
    dataDir: config.GATEWAY_DATA_DIR,
    url: config.ASSETS_URL,
    publicEndpoint: config.ASSETS_PUBLIC_ENDPOINT,
    endpoint: config.AWS_ENDPOINT_URL_S3 ?? config.AWS_ENDPOINT_URL,
    region: config.AWS_REGION,
  });
  return life.own(stores, (opened) => opened.close());
}
