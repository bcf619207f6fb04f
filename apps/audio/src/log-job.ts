import { TranscriptionOutput } from '@gateway/contracts/jobs';
import type { FinishedJob } from '@gateway/jobs/finished-job';
import type { Logger } from '@gateway/service-kit/logger';

/** The one log line of a job, written when it has ended. Never its words. */
export function logJob(job: FinishedJob, logger: Logger): void {
  const { error, output, ...line } = job;
  const done = TranscriptionOutput.safeParse(output).data;
  logger[job.outcome === 'failed' ? 'error' : 'info']({
    ...line,
    channel: done?.channel,
    audioSeconds: done?.durationSeconds,
    upstreamAttempts: done?.upstreamAttempts,
    'error.code': error?.code,
    'error.source': error?.source,
    'error.cause': causeOf(error?.options.cause),
  });
}

const causeOf = (cause: unknown): string | undefined =>
  cause instanceof Error ? (cause.stack ?? cause.message) : cause === undefined ? undefined : String(cause);
