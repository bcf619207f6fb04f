import { GatewayError } from '@gateway/contracts/gateway-error';
import { JobKind } from '@gateway/contracts/jobs';
import type { Job } from 'bullmq';
import { z } from 'zod';
import { JobEnvelope } from './job-envelope.ts';
import { decodeFailure } from './job-failure.ts';

/** A job that has ended, for the one log line and the metrics. */
export interface FinishedJob {
  readonly jobId: string;
  readonly kind: JobKind;
  readonly requestId: string;
  readonly keyId: string;
  readonly model: string;
  readonly outcome: 'completed' | 'failed' | 'cancelled';
  /** As the job's kind has it; undefined unless completed. */
  readonly output: unknown;
  /** With its cause, where it failed in this process. */
  readonly error: GatewayError | undefined;
  /** How often it was begun. */
  readonly attempts: number;
  readonly queuedMs: number;
  readonly durationMs: number;
}

const Named = z.object({ model: z.string() });

export function finishedJob(job: Job, thrown: Error | undefined): FinishedJob {
  const { keyId, requestId, input } = JobEnvelope.parse(job.data);
  const error =
    thrown && (thrown.cause instanceof GatewayError ? thrown.cause : decodeFailure(thrown.message));
  const { timestamp, processedOn = timestamp, finishedOn = processedOn } = job;
  return {
    jobId: job.id ?? '',
    kind: JobKind.parse(job.name),
    requestId,
    keyId,
    model: Named.parse(input).model,
    outcome: error === undefined ? 'completed' : error.code === 'job_cancelled' ? 'cancelled' : 'failed',
    output: error === undefined ? job.returnvalue : undefined,
    error,
    attempts: job.attemptsStarted,
    queuedMs: processedOn - timestamp,
    durationMs: finishedOn - processedOn,
  };
}
