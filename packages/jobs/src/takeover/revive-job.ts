import { JOBS } from '../catalog.ts';
import type { UploadStore } from '../files/upload-store.ts';
import { outcomeUnknown } from '../job-failure.ts';
import { type SettleJob, settlementOf } from '../job-metering.ts';
import type { JobToStore } from '../queue/store-job.ts';
import type { BegunMarks } from './begun-marks.ts';
import type { WorkerChannel } from './worker-channel.ts';

interface ReviveOptions {
  readonly job: JobToStore;
  /** Whether its caller has got a part of its output. */
  readonly isHeard: boolean;
  readonly channel: Pick<WorkerChannel, 'isRunElsewhere'>;
  readonly marks: Pick<BegunMarks, 'begunBy'>;
  readonly uploads: Pick<UploadStore, 'delete'>;
  readonly settle: SettleJob | undefined;
  readonly store: (job: JobToStore) => Promise<void>;
}

/**
 * Decides about a job that was stored in Redis and that Redis has lost. If a worker still runs it, its result
 * is waited for. If its work certainly has not begun, or costs nothing, it is queued again. Resolves to
 * whether to wait for it.
 */
export async function reviveJob(options: ReviveOptions): Promise<boolean> {
  const { job, isHeard, channel, marks, uploads, settle, store } = options;
  const { kind, id, envelope } = job;
  const begunBy = await marks.begunBy(envelope.inputId);
  if (begunBy !== undefined && (await channel.isRunElsewhere(id, begunBy))) return true;
  if (begunBy === undefined || (JOBS[kind].work === 'free' && !isHeard)) {
    await store(job);
    return true;
  }
  const { metering } = envelope;
  const ending = { hasRun: true, consumed: undefined, error: outcomeUnknown(), nowMs: Date.now() };
  if (metering) await settle?.(metering.subject, settlementOf({ ...ending, metering }));
  await uploads.delete(...envelope.uploads);
  return false;
}
