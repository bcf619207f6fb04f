import type { AssetStore } from '@gateway/assets/asset-store';
import type { BatchCounts } from '@gateway/contracts/jobs';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { LineStates } from '@gateway/jobs/records/line-states';
import type { ByteBudget } from '@gateway/jobs/worker/byte-budget';
import type { ReadKeyIdentity } from '@gateway/metering/keys/key-identity';
import type { JobService } from '@gateway/model-service/jobs/submit-job';
import type { BatchRecords } from '../../batches/batch-records.ts';
import type { StoredFiles } from '../../batches/stored-files.ts';
import type { TextServices } from '../../call/request/text-call.ts';
import type { FinishedLine } from './finished-line.ts';
import type { LinePlaces } from './line-places.ts';
import type { ProviderReport } from './provider/provider-batch.ts';
import type { ResultMemory } from './result-memory.ts';

/** What it takes to put together what batches of text requests have come to. */
export interface TextBatches {
  readonly services: TextServices;
  readonly records: BatchRecords;
  readonly files: StoredFiles;
  /** Where the journals of their lines lie. */
  readonly journals: AssetStore;
  readonly meter: JobService<'text.batch'>['meter'];
  readonly readIdentity: ReadKeyIdentity;
  /** Where what goes to providers is put together. */
  readonly uploads: Pick<UploadStore, 'newId' | 'pathOf' | 'delete'>;
  readonly memory: ResultMemory;
  /** Keeps how far a batch is, for those who look at it. Both throw `service_unavailable` while Redis is away. */
  readonly progress: {
    keepCounts(batchId: string, counts: BatchCounts): Promise<void>;
    keepLines(batchId: string, states: LineStates): Promise<void>;
  };
  /** Called when a provider is done with lines that it was given together, or has refused them. */
  readonly onProviderBatch: (report: ProviderReport) => void;
  /** Called for each line that has ended and was begun, for its log line, its metrics and its span. */
  readonly onLine: (line: FinishedLine) => void;
  /** Aborted when the process ends. */
  readonly stopping: AbortSignal;
  /** Called for what is tried again later. */
  readonly onError: (error: unknown) => void;
  readonly now: () => number;
}

/** What it takes to have their lines done. */
export interface TextBatchRunner extends TextBatches {
  /** Lines that a batch may have. */
  readonly maxLines: number;
  readonly places: LinePlaces;
  /** Bounds what lines hold in memory that have been taken: their bodies, and of those at work their answers until these are kept. */
  readonly lineMemory: { readonly bodies: ByteBudget; readonly answers: ByteBudget };
  /** How long lines at work may take to end when the process ends. */
  readonly drainTimeoutMs: number;
}

/** What it takes to make, show and end them. */
export interface TextBatchService
  extends TextBatches,
    Omit<JobService<'text.response' | 'text.batch'>, 'upstream'> {
  /** Lines that a batch may have. */
  readonly maxLines: number;
}
