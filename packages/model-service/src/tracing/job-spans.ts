import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import { jobAttributes } from '@gateway/jobs/queue/job-attributes';
import type { FinishedAttempt } from '@gateway/jobs/webhooks/webhook-worker';
import type { FinishedJob } from '@gateway/jobs/worker/finished-job';
import type { LogFields } from '@gateway/service-kit/request/request-context';
import { writeInference } from './inference-span.ts';

/** Writes the spans of a job that has ended, from what its log line has. Does nothing where no traces are exported. */
export function writeJob(job: FinishedJob, line: LogFields): void {
  const { trace, jobId: id, kind, subject, usage, error, outcome } = job;
  if (trace === undefined) return;
  if (subject !== undefined && usage !== undefined) writeInference(trace, { subject, result: usage, line });
  trace.write({
    name: `process ${kind}`,
    isFailed: outcome === 'failed',
    attributes: {
      ...jobAttributes({ id, kind, envelope: job }),
      'messaging.operation.type': 'process',
      'error.type': error?.code,
      'gateway.outcome': outcome,
      'gateway.job.attempts': job.attempts,
      'gateway.job.queued_ms': job.queuedMs,
    },
  });
}

/** Writes the span of one attempt to send a webhook. */
export function writeWebhook(
  trace: RequestTrace | undefined,
  attempt: FinishedAttempt,
  host: string | undefined,
): void {
  const { outcome, durationMs } = attempt;
  if (trace === undefined) return;
  trace.write({
    name: 'webhook',
    kind: 'client',
    startMs: trace.nowMs - durationMs,
    isFailed: outcome.error !== null,
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': outcome.status,
      'server.address': host,
      'gateway.webhook.id': attempt.webhookId,
      'gateway.webhook.attempt': attempt.attempt,
      'gateway.job.id': attempt.jobId,
      'gateway.request.id': attempt.requestId,
      'gateway.key.id': attempt.keyId,
    },
  });
}
