import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import { jobAttributes } from '@gateway/jobs/queue/job-attributes';
import type { FinishedAttempt } from '@gateway/jobs/webhooks/webhook-worker';
import type { FinishedJob } from '@gateway/jobs/worker/finished-job';
import type { LogFields } from '@gateway/service-kit/request/request-context';
import type { Tracing } from '@gateway/service-kit/tracing/tracing';
import { serverOf, writeInference } from './inference-span.ts';

/** For a worker: continues the traces of what queued its jobs. Undefined where no traces are exported. */
export const jobTraces = (
  tracing: Tracing | undefined,
): ((traceparent: string | undefined) => RequestTrace) | undefined =>
  tracing && ((traceparent) => tracing.continued(traceparent, 'consumer'));

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

/** Writes the span of one attempt to send a webhook. Only the host of its address: a path or a query may contain a secret. */
export function writeWebhook(tracing: Tracing | undefined, attempt: FinishedAttempt): void {
  if (tracing === undefined) return;
  const { outcome, durationMs, traceparent } = attempt;
  const trace = tracing.continued(traceparent, 'consumer');
  trace.write({
    name: 'webhook',
    kind: 'client',
    startMs: trace.nowMs - durationMs,
    isFailed: outcome.error !== null,
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': outcome.status,
      ...(outcome.url !== null && serverOf(outcome.url)),
      'gateway.webhook.id': attempt.webhookId,
      'gateway.webhook.attempt': attempt.attempt,
      'gateway.job.id': attempt.jobId,
      'gateway.request.id': attempt.requestId,
      'gateway.key.id': attempt.keyId,
    },
  });
}
