import type { AssetStore } from '@gateway/assets/asset-store';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { JobQueue } from '@gateway/jobs/queue/job-queue';
import type { ReadKeyIdentity } from '@gateway/metering/keys/key-identity';
import type { Meter } from '@gateway/metering/meter/meter';
import type { JobMetrics } from '@gateway/model-service/jobs/job-metrics';
import type { NamedFetching } from '@gateway/upstream/fetching/fetch-named';
import type { Upstream } from '@gateway/upstream/upstream';

/** What the image endpoints work with. */
export interface ImageService {
  readonly upstream: Upstream;
  readonly meter: Meter;
  readonly jobMetrics: JobMetrics;
  readonly queue: JobQueue<'image.generation' | 'image.edit' | 'image.batch'>;
  readonly assets: AssetStore;
  readonly uploads: UploadStore;
  /** Base of the URLs that are handed out. */
  readonly publicUrl: string;
  /** Signs them. */
  readonly secret: string;
  readonly jsonMaxBytes: number;
  /** Of an edit in JSON, which may hold its images. */
  readonly editJsonMaxBytes: number;
  readonly fetching: NamedFetching;
  readonly maxJsonDepth: number;
  /** See `IMAGE_KEEP_ALIVE_MS`. */
  readonly keepAliveMs: number;
  /** What a key may do when a line of its batch is taken. */
  readonly readIdentity: ReadKeyIdentity;
  /** Unix milliseconds. */
  readonly now: () => number;
}
