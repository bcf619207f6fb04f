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
  return workLine(line, { error, usage, trace, endpoint: line.kind });
}

/** What is known of the end of anything that is done without a caller. */
interface EndedWork extends Pick<FinishedJob, 'error' | 'usage' | 'trace'> {
  readonly endpoint: string;
}

/** The same for what is no job of its own, such as a line of a batch. */
export function workLine<Fields extends Pick<FinishedJob, 'outcome'> & JobLine['fields']>(
  fields: Fields,
  { error, usage, trace, endpoint }: EndedWork,
): JobLine {
  const { outcome } = fields;
  const status = error?.status('openai') ?? 200;
  return {
    level: outcome === 'failed' ? 'error' : 'info',
    labels: { endpoint, status, outcome: outcomeOf(outcome, status) },
    fields: {
      ...fields,
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
