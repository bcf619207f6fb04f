import { GatewayError } from '@gateway/contracts/gateway-error';
import { type JobKind, jobAreaOf, type PublicJob } from '@gateway/contracts/jobs';
import type { JobQueue } from '@gateway/jobs/queue/job-queue';
import type { FoundJob } from '@gateway/jobs/records/find-job';
import { shownError } from '@gateway/service-kit/error-response';

const toSeconds = (ms: number): number => Math.floor(ms / 1000);
const toSecondsOrNull = (ms: number | null): number | null => (ms === null ? null : toSeconds(ms));

/** Where callers find a job. */
export const jobPath = ({ id, kind }: Pick<FoundJob, 'id' | 'kind'>): string =>
  `/v1/${jobAreaOf(kind)}/jobs/${id}`;

/** A job as its caller sees it. */
export async function publicJob(
  queue: Pick<JobQueue<JobKind>, 'positionOf'>,
  record: FoundJob,
): Promise<PublicJob> {
  const { id, kind, status, model, createdAtMs, startedAtMs, finishedAtMs, expiresAtMs, error } = record;
  const { counts } = record;
  return {
    id,
    object: 'job',
    kind,
    status,
    model,
    created_at: toSeconds(createdAtMs),
    started_at: toSecondsOrNull(startedAtMs),
    finished_at: toSecondsOrNull(finishedAtMs),
    expires_at: toSecondsOrNull(expiresAtMs),
    progress: status === 'completed' ? 1 : counts ? (counts.completed + counts.failed) / counts.total : 0,
    position: status === 'queued' ? ((await queue.positionOf(id, record.keyId))?.position ?? null) : null,
    error: error && shownError(GatewayError.deserialize(error)),
    ...(counts && { counts }),
  };
}
