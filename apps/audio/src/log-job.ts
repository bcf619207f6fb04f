import { TranscriptionOutput } from '@gateway/contracts/jobs';
import type { FinishedJob } from '@gateway/jobs/finished-job';
import type { Logger } from '@gateway/service-kit/logger';
import type { Metrics, RequestOutcome } from '@gateway/service-kit/metrics';

/** The one log line and the metrics of a job that has ended. Never its words. */
export function logJob(job: FinishedJob, { logger, metrics }: { logger: Logger; metrics: Metrics }): void {
  const { error, output, ...line } = job;
  const done = TranscriptionOutput.safeParse(output).data;
  const status = error?.status('openai') ?? 200;
  metrics.request({ endpoint: job.kind, status, outcome: outcomeOf(job, status) }, job.durationMs);
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

function outcomeOf({ outcome }: FinishedJob, status: number): RequestOutcome {
  if (outcome === 'cancelled') return 'left';
  if (status >= 500) return 'failed';
  return status >= 400 ? 'refused' : 'ok';
}

const causeOf = (cause: unknown): string | undefined =>
  cause instanceof Error ? (cause.stack ?? cause.message) : cause === undefined ? undefined : String(cause);
