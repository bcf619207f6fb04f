import type { JobKind } from '@gateway/contracts/jobs';
import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import { Job, type Queue } from 'bullmq';
import { JOBS } from '../catalog.ts';
import type { JobEnvelope } from '../job-envelope.ts';
import { BULLMQ_PRIORITY, type JobTurns, takerOf } from '../turns/job-turns.ts';

/** Ended jobs that are remembered per queue, whatever their age. */
const MAX_REMEMBERED = 10_000;
/** How long the queue itself remembers them. How they ended is kept for longer (`records/ended-jobs.ts`). */
const REMEMBERED_SECONDS = 3600;

export interface JobToStore {
  readonly id: string;
  readonly kind: JobKind;
  readonly envelope: JobEnvelope;
  /** The slot that was reserved for it. */
  readonly slotId: string;
  /** Unix milliseconds. */
  readonly createdAtMs: number;
  /** Of the span by which it is queued. */
  readonly trace?: RequestTrace | undefined;
}

/** Stores a job in its queue and gives it its turn: both or neither. Does nothing if the job is stored already. */
export async function storeJob(
  { queue, turns }: { readonly queue: Queue; readonly turns: JobTurns },
  { id, kind, envelope, slotId, createdAtMs }: JobToStore,
): Promise<void> {
  const { attempts } = JOBS[kind];
  const { batchId } = envelope;
  const kept = { age: REMEMBERED_SECONDS, count: MAX_REMEMBERED };
  const options = {
    jobId: id,
    timestamp: createdAtMs,
    attempts,
    backoff: { type: 'custom' },
    priority: BULLMQ_PRIORITY,
    // There may be many of them; how they ended is kept elsewhere.
    removeOnComplete: batchId === undefined ? kept : true,
    removeOnFail: kept,
    stackTraceLimit: 0,
  };
  const client = await queue.backend.client;
  const transaction = client.multi();
  await new Job(queue, kind, envelope, options, id).addJob(transaction);
  turns.takeTurn(transaction, queue.name, { ...takerOf(kind, envelope), jobId: id, slotId });
  for (const [error] of (await transaction.exec()) ?? []) if (error) throw error;
}
