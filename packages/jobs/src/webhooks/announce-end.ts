import type { JobKind } from '@gateway/contracts/jobs';
import type { Job } from 'bullmq';
import { parseEnvelope } from '../job-envelope.ts';
import { webhookIdOf } from './delivery.ts';
import type { EndedJobNotice } from './webhook-log.ts';

/** Queues the webhook of a job that has ended. */
export type AnnounceEnd = (notice: EndedJobNotice) => Promise<void>;

interface Announcer {
  readonly announce: AnnounceEnd | undefined;
  readonly onError: (error: unknown) => void;
}

/**
 * Call it after a detached job's end was kept and before it is published: if the process dies in between,
 * another does it again. A failing webhook does not fail the job.
 */
export async function announceEnd(
  { announce, onError }: Announcer,
  kind: JobKind,
  { id = '', data }: Pick<Job, 'id' | 'data'>,
): Promise<void> {
  const {
    keyId,
    requestId,
    isDetached = false,
    requeues,
    batchId,
    webhook = null,
    traceparent,
  } = parseEnvelope(kind, data);
  // A batch reports its own end, and none for each line.
  if (announce === undefined || !isDetached || batchId !== undefined) return;
  const notice = { id: webhookIdOf(id, requeues), jobId: id, keyId, requestId, url: webhook };
  await announce({ ...notice, ...(traceparent !== undefined && { traceparent }) }).catch(onError);
}
