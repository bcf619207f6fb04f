import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import { ATTEMPTS_HEADER } from '@gateway/contracts/usage/usage-detail';
import type { UsageResult, UsageSubject } from '@gateway/contracts/usage/usage-record';
import type { FinishedJob } from '@gateway/jobs/worker/finished-job';
import { workLine } from '@gateway/jobs/worker/job-line';
import { writeInference } from '@gateway/model-service/tracing/inference-span';
import type { ProcessSettings } from '@gateway/service-kit/config';
import type { Started } from '@gateway/service-kit/start-service';

/** A line of a batch that has ended. */
export interface FinishedLine {
  readonly id: string;
  readonly batchId: string;
  readonly subject: UsageSubject;
  readonly error: GatewayError | undefined;
  readonly usage: UsageResult;
  /** How often it was begun. */
  readonly attempts: number;
  /** How long it had waited for its turn, and how long its last attempt has taken. */
  readonly queuedMs: number;
  readonly durationMs: number;
  /** Of its last attempt. Undefined where no traces are exported, and of one that was interrupted. */
  readonly trace: RequestTrace | undefined;
}

/** Writes the log line, the metrics and the spans of each. */
export const lineReports =
  ({ logger, metrics }: Pick<Started<ProcessSettings>, 'logger' | 'metrics'>) =>
  (finished: FinishedLine): void => {
    const { id, batchId, subject, error, usage, attempts, queuedMs, durationMs, trace } = finished;
    const { keyId, requestId, model } = subject;
    const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = usage.consumption;
    const outcome: FinishedJob['outcome'] = error === undefined ? 'completed' : 'failed';
    const fields = {
      outcome,
      ...{ usageId: id, batchId, kind: 'text.line', requestId, keyId, model, attempts },
      ...{ queuedMs, durationMs, channel: usage.channel ?? undefined, upstreamAttempts: usage.attempts },
      ...{ inputTokens, cachedInputTokens, outputTokens, reasoningTokens },
      attemptList: error?.options.headers?.[ATTEMPTS_HEADER]?.toString(),
    };
    const { level, labels, fields: line } = workLine(fields, { error, usage, trace, endpoint: 'text.line' });
    metrics.request(labels, durationMs, trace);
    logger[level](line);
    if (trace === undefined) return;
    writeInference(trace, { subject, result: usage, line });
    trace.write({
      name: 'batch line',
      isFailed: outcome === 'failed',
      attributes: {
        'gateway.batch.id': batchId,
        'gateway.usage.id': id,
        'gateway.request.id': requestId,
        'gateway.key.id': keyId,
        'gateway.outcome': outcome,
        'gateway.job.attempts': attempts,
        'gateway.job.queued_ms': queuedMs,
        'error.type': error?.code,
      },
    });
  };
