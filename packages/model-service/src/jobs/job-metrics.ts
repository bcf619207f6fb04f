import { DURATION_BUCKETS, type MetricsRegistry } from '@gateway/service-kit/metrics';
import { Counter, Histogram } from 'prom-client';

/** What is counted of jobs and batches, where they are made and where they are done. */
export interface JobMetrics {
  /** A request that is done by a job: one that it made, or one that an earlier request made. */
  requested(labels: JobRequestLabels): void;
  /** A job of this kind that ended, and how long it had waited in its queue. */
  queued(kind: string, waitedMs: number): void;
  /** Lines of a batch that is done. */
  batchLines(kind: string, counts: { readonly completed: number; readonly failed: number }): void;
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
    queued: (kind, waitedMs) => queued.observe({ kind }, waitedMs / 1000),
    batchLines: (kind, { completed, failed }) => {
      lines.inc({ kind, outcome: 'completed' }, completed);
      lines.inc({ kind, outcome: 'failed' }, failed);
    },
  };
}
