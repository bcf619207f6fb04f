import type { AssetStore } from '@gateway/assets/asset-store';
import type { BatchKind, JobKind, MediaBatchKind } from '@gateway/contracts/jobs';
import type { JobOutput } from '@gateway/jobs/catalog';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { ReadKeyIdentity } from '@gateway/metering/keys/key-identity';
import type { JobService } from '../jobs/submit-job.ts';
import type { LineEndpoints } from './line-endpoint.ts';

/** What the lines of batches become. */
export type LineKind = Exclude<JobKind, BatchKind>;

/** Of the kinds that lines become: writes the body that a line's endpoint answers with, as JSON, in pieces. @throws {GatewayError} before the first one */
export type LineBodies<Kind extends LineKind> = {
  readonly [Each in Kind]?: (output: JobOutput<Each>) => AsyncIterable<string>;
};

/** What it takes to have the lines of batches done. */
export interface LineService<Kind extends LineKind, Batch extends BatchKind>
  extends Omit<JobService<Kind | Batch>, 'upstream'> {
  readonly endpoints: LineEndpoints<Kind>;
  readonly uploads: Pick<UploadStore, 'delete'>;
  readonly maxJsonDepth: number;
  readonly readIdentity: ReadKeyIdentity;
}

/** What it takes to make, do and show the batches of one area. */
export interface BatchService<Kind extends LineKind, Batch extends MediaBatchKind>
  extends LineService<Kind, Batch>,
    Pick<JobService<Kind | Batch>, 'upstream'> {
  readonly kind: Batch;
  readonly bodies: LineBodies<Kind>;
  readonly uploads: UploadStore;
  readonly assets: AssetStore;
}
