import type { AssetStore } from '@gateway/assets/asset-store';
import type { Identity } from '@gateway/contracts/identity';
import type { JobKind } from '@gateway/contracts/jobs';
import type { JobStoresOptions } from '@gateway/jobs/files/job-stores';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { JobQueue } from '@gateway/jobs/queue/job-queue';
import type { JobProcessors } from '@gateway/jobs/worker/job-processor';
import type { ReadKeyIdentity } from '@gateway/metering/keys/key-identity';
import type { Meter } from '@gateway/metering/meter/meter';
import type { Service, ServiceAppOptions } from '@gateway/service-kit/service-app';
import type { Upstream } from '@gateway/upstream/upstream';
import type { ContentLog } from '../content-log/content-log.ts';
import type { JobMetrics } from '../jobs/job-metrics.ts';

export const SECRET = 'a secret that only these tests know of';
/** Of a key that may do everything. */
export const IDENTITY: Identity = {
  keyId: 'key_1',
  keyName: 'test',
  team: null,
  models: null,
  endpoints: null,
  accounts: [],
};

/** What a media service and its workers are made from. */
export interface MediaParts<Kind extends JobKind> extends Omit<ServiceAppOptions, 'service' | 'handlers'> {
  readonly upstream: Upstream;
  readonly queue: JobQueue<Kind>;
  readonly meter: Meter;
  readonly jobMetrics: JobMetrics;
  readonly contentLog: ContentLog;
  readonly assets: AssetStore;
  readonly uploads: UploadStore;
  /** Where the service listens. */
  readonly publicUrl: string;
  readonly secret: string;
  readonly readIdentity: ReadKeyIdentity;
  readonly now: () => number;
}

type WorkerParts = Pick<MediaParts<JobKind>, 'upstream' | 'contentLog' | 'assets' | 'uploads' | 'now'>;

/** Where jobs' files lie, if not in the data folder. */
export type StoreLocation = Omit<JobStoresOptions, 'dataDir'>;

export interface MediaOptions<Kind extends JobKind> {
  readonly name: 'image' | 'audio';
  readonly kinds: readonly Kind[];
  readonly maxWaiting: number;
  /** The configuration file, given the stand-in provider's URL. */
  readonly configuration: (url: string) => string;
  readonly service: (parts: MediaParts<Kind>) => Service;
  readonly processors: (parts: WorkerParts) => JobProcessors;
  readonly files?: StoreLocation;
  /** What the service itself does for its batches. */
  readonly batchProcessors: (parts: MediaParts<Kind>) => JobProcessors;
}
