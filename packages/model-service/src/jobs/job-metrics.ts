import { BatchCounts } from '@gateway/contracts/jobs';
import type { FinishedJob } from '@gateway/jobs/worker/finished-job';
import { DURATION_BUCKETS, type MetricsRegistry } from '@gateway/service-kit/metrics';
import type { LogFields } from '@gateway/service-kit/request/request-context';
import { Counter, Histogram } from 'prom-client';
import { z } from 'zod';

/** What is counted of jobs and batches, where they are made and where they are done. */
export interface JobMetrics {
  /** A request that is done by a job: one that it made, or one that an earlier request made. */
  requested(labels: JobRequestLabels): void;
  /** A job that ended: how long it had waited in its queue, and the lines of a batch that is done. */
  ended(job: Pick<FinishedJob, 'kind' | 'queuedMs' | 'output'>): void;
}

const Counted = z.object({ counts: BatchCounts }).partial().catch({});

/** The lines of a batch that is done, for its log line. None for other jobs. */
export function countFields(output: unknown): LogFields {
  const { counts } = Counted.parse(output);
  return counts === undefined ? {} : { linesCompleted: counts.completed, linesFailed: counts.failed };
}

interface JobRequestLabels {
  readonly kind: string;
  /** Whether the job goes on without its caller. */
  readonly mode: 'waiting' | 'detached';
  readonly job: 'new' | 'joined';
}

export function createJobMetrics({ registry }: MetricsRegistry): JobMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'gateway_job_requests_total',
    help: 'Requests that are done by a job, by its kind, whether it is detached, and whether it existed before',
    labelNames: ['kind', 'mode', 'job'],
    registers,
  });
  const queued = new Histogram({
    name: 'gateway_job_queue_seconds',
    help: 'Time from a job being queued to a worker taking it, by kind',
    labelNames: ['kind'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const lines = new Counter({
    name: 'gateway_batch_lines_total',
    help: 'Lines of batches that were done, by the kind of the batch and by their outcome',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  return {
    requested: ({ kind, mode, job }) => requests.inc({ kind, mode, job }),
    ended: ({ kind, queuedMs, output }) => {
      queued.observe({ kind }, queuedMs / 1000);
      const { counts } = Counted.parse(output);
      if (counts === undefined) return;
      lines.inc({ kind, outcome: 'completed' }, counts.completed);
      lines.inc({ kind, outcome: 'failed' }, counts.failed);
    },
  };
}
