import type { JobShare } from '@gateway/contracts/identity';
import type { JobMetering } from '../job-metering.ts';
import type { QueueSlot } from './queue-slots.ts';

/** Whose a new job is, and how it is made. */
export interface JobOwner {
  readonly keyId: string;
  readonly requestId: string;
  /** What has been reserved for the job, whose id is the subject's. Whatever becomes of the job, this is settled. */
  readonly metering?: JobMetering;
  /** The priority and weight of its key's jobs among others'. */
  readonly share?: JobShare | undefined;
  /** Where it is to wait; one is reserved if left out. */
  readonly slot?: QueueSlot;
  /**
   * It goes on without its caller, who comes back for its result. Where it fails without having been done, its files stay, and
   * it can be queued again.
   */
  readonly isDetached?: boolean;
  /** The claim of its idempotency key, as `claims` gave it. */
  readonly claim?: string;
  /** The id that it will have, where nothing is reserved for it. */
  readonly id?: string;
  /** The batch that it is a line of: it is not listed by itself. */
  readonly batchId?: string;
  /** Where its end is to be reported. */
  readonly webhook?: string;
}
