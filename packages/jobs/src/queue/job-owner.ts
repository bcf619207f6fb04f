import type { JobShare } from '@gateway/contracts/identity';
import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import type { JobMetering } from '../job-metering.ts';
import type { QueueSlot } from './queue-slots.ts';

/** The owner of a new job, and the job's settings. */
export interface JobOwner {
  readonly keyId: string;
  readonly requestId: string;
  /** What was reserved for the job. The subject's id is the job's id. It is settled in every case. */
  readonly metering?: JobMetering;
  /** The priority and weight of its key's jobs among others'. */
  readonly share?: JobShare | undefined;
  /** The job's slot in the queue. Absent: one is reserved. */
  readonly slot?: QueueSlot;
  /**
   * Whether the job goes on without its caller, who fetches the result later. If it fails before its work was
   * done, its files are kept, so that it can be queued again.
   */
  readonly isDetached?: boolean;
  /** The claim of its idempotency key, as `claims` gave it. */
  readonly claim?: string;
  /** The job's id, if nothing is reserved for it. */
  readonly id?: string;
  /** The batch that this job is a line of. Such a job is not listed by itself. */
  readonly batchId?: string;
  /** Its caller does not want it in the content log. */
  readonly contentLog?: 'off' | undefined;
  /** Where its end is to be reported. */
  readonly webhook?: string;
  /** Of the request, or of the batch, that makes it. Undefined where no traces are exported. */
  readonly trace?: RequestTrace | undefined;
}
