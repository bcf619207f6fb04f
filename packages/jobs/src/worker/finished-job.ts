import { GatewayError } from '@gateway/contracts/gateway-error';
import { JobKind } from '@gateway/contracts/jobs';
import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import type { UsageResult, UsageSubject } from '@gateway/contracts/usage/usage-record';
import type { Job } from 'bullmq';
import { parseEnvelope } from '../job-envelope.ts';
import { decodeFailure } from '../job-failure.ts';

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
  /** The recorded usage; undefined if the job is not metered. */
  readonly usage: UsageResult | undefined;
  /** Whose usage that is. */
  readonly subject: UsageSubject | undefined;
  readonly batchId: string | undefined;
  /** Of its last attempt, if that was made in this process. Undefined where no traces are exported. */
  readonly trace: RequestTrace | undefined;
}

export function finishedJob(
  job: Job,
  thrown: Error | undefined,
  { output, usage, trace }: Partial<Pick<FinishedJob, 'output' | 'usage' | 'trace'>>,
): FinishedJob {
  const kind = JobKind.parse(job.name);
  const { keyId, requestId, model, batchId, metering } = parseEnvelope(kind, job.data);
  const error = thrown && errorOf(thrown);
  const { timestamp, processedOn = timestamp, finishedOn = processedOn } = job;
  return {
    jobId: job.id ?? '',
    kind,
    requestId,
    keyId,
    model,
    outcome: error === undefined ? 'completed' : error.code === 'job_cancelled' ? 'cancelled' : 'failed',
    output: error === undefined ? output : undefined,
    error,
    attempts: job.attemptsStarted,
    queuedMs: processedOn - timestamp,
    durationMs: finishedOn - processedOn,
    usage,
    subject: metering?.subject,
    batchId,
    trace,
  };
}

/** Why a job failed, as BullMQ hands it on. */
export const errorOf = (thrown: Error): GatewayError =>
  thrown.cause instanceof GatewayError ? thrown.cause : decodeFailure(thrown.message);
