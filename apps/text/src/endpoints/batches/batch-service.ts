import type { UploadStore } from '@gateway/jobs/files/upload-store';
import type { LineService } from '@gateway/model-service/batch/batch-service';
import type { BatchRecords } from '../../batches/batch-records.ts';
import type { StoredFiles } from '../../batches/stored-files.ts';
import type { TextServices } from '../../call/request/text-call.ts';
import type { ProviderReport } from './provider/provider-batch.ts';
import type { ResultMemory } from './result-memory.ts';

/** What the queue of this service takes beside batches. */
export type TextJob = 'text.response' | 'text.line';

/** What it takes to make, do and show batches of text requests. */
export interface TextBatchService extends Omit<LineService<TextJob, 'text.batch'>, 'endpoints'> {
  readonly services: TextServices;
  readonly records: BatchRecords;
  readonly files: StoredFiles;
  /** Lines that a batch may have. */
  readonly maxLines: number;
  /** Aborted when the process ends. */
  readonly stopping: AbortSignal;
  /** Where what goes to providers is put together. */
  readonly uploads: Pick<UploadStore, 'newId' | 'pathOf' | 'delete'>;
  readonly memory: ResultMemory;
  /** Called when a provider is done with lines that it was given together, or has refused them. */
  readonly onProviderBatch: (report: ProviderReport) => void;
  /** Called for what is tried again later. */
  readonly onError: (error: unknown) => void;
}
