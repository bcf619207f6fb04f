import type { AssetStore } from '@gateway/assets/asset-store';
import type { BatchKind, JobKind, MediaBatchKind } from '@gateway/contracts/jobs';
import type { JobOutput } from '@gateway/jobs/catalog';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { ReadKeyIdentity } from '@gateway/metering/keys/key-identity';
import type { JobService } from '../jobs/submit-job.ts';
import type { JobLineEndpoint, LineEndpoints } from './line-endpoint.ts';

/** What the lines of batches become. */
export type LineKind = Exclude<JobKind, BatchKind>;

/** Of the kinds that lines become: writes the body that a line's endpoint answers with, as JSON, in pieces. @throws {GatewayError} before the first one */
export type LineBodies<Kind extends LineKind> = {
  readonly [Each in Kind]?: (output: JobOutput<Each>) => AsyncIterable<string>;
};

/** What it takes to make, do and show the batches of one area, whose lines become jobs. */
export interface BatchService<Kind extends LineKind, Batch extends MediaBatchKind>
  extends JobService<Kind | Batch> {
  readonly kind: Batch;
  readonly endpoints: LineEndpoints<JobLineEndpoint<Kind>>;
  readonly bodies: LineBodies<Kind>;
  readonly uploads: UploadStore;
  readonly assets: AssetStore;
  readonly maxJsonDepth: number;
  readonly readIdentity: ReadKeyIdentity;
}
