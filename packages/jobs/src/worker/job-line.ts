import type { FinishedJob } from './finished-job.ts';

export interface JobLine {
  readonly level: 'info' | 'error';
  /** What the job is counted under. */
  readonly labels: {
    readonly endpoint: string;
    readonly status: number;
    readonly outcome: 'ok' | 'refused' | 'failed' | 'left';
  };
  /** Flat, and never content of the request or the response. */
  readonly fields: Record<string, string | number | undefined>;
}

/** What a job's one log line and its metrics hold, for every kind. */
export function jobLine({ error, output: _, usage, subject: __, trace, ...line }: FinishedJob): JobLine {
  const status = error?.status('openai') ?? 200;
  return {
    level: line.outcome === 'failed' ? 'error' : 'info',
    labels: { endpoint: line.kind, status, outcome: outcomeOf(line.outcome, status) },
    fields: {
      ...line,
      ...(trace && { traceId: trace.context.traceId, spanId: trace.context.spanId }),
      costMicroUsd: usage?.costMicroUsd ?? undefined,
      hooks: usage?.detail?.hooks,
      'error.code': error?.code,
      'error.source': error?.source,
      'error.cause': causeOf(error?.options.cause),
    },
  };
}

function outcomeOf(outcome: FinishedJob['outcome'], status: number): JobLine['labels']['outcome'] {
  if (outcome === 'cancelled') return 'left';
  if (status >= 500) return 'failed';
  return status >= 400 ? 'refused' : 'ok';
}

const causeOf = (cause: unknown): string | undefined =>
  cause instanceof Error ? (cause.stack ?? cause.message) : cause === undefined ? undefined : String(cause);
