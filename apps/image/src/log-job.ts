import { ImageOutput } from '@gateway/contracts/jobs';
import type { FinishedJob } from '@gateway/jobs/finished-job';
import { jobLine } from '@gateway/jobs/job-line';
import type { Logger } from '@gateway/service-kit/logger';
import type { Metrics } from '@gateway/service-kit/metrics';

/** The one log line and the metrics of a job that has ended. */
export function logJob(job: FinishedJob, { logger, metrics }: { logger: Logger; metrics: Metrics }): void {
  const { level, labels, fields } = jobLine(job);
  const { channel, images, upstreamAttempts } = ImageOutput.partial().catch({}).parse(job.output);
  metrics.request(labels, job.durationMs);
  logger[level]({ ...fields, channel, images: images?.length, upstreamAttempts });
}
