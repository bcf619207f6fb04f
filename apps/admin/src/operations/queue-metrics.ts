import type { JobList, QueueCounts } from '@gateway/jobs/records/job-list';
import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import { Gauge } from 'prom-client';

interface Sources {
  readonly jobs: Pick<JobList, 'counts'>;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

/**
 * How many jobs each queue holds, read from Redis for each page of metrics. Every admin service reports the whole of each queue, so that
 * the largest value of them is the number of jobs, and not their sum. While Redis is away there are no values: nobody takes
 * a missing number for an empty queue.
 */
export function createQueueMetrics({ registry }: MetricsRegistry, { jobs, now, onError }: Sources): void {
  let reading: Promise<readonly QueueCounts[]> | undefined;
  /** Both gauges of one page share a reading. */
  const read = (): Promise<readonly QueueCounts[]> => {
    reading ??= jobs
      .counts()
      .catch((error: unknown) => {
        onError(error);
        return [];
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
  const registers = [registry];
  new Gauge({
    name: 'gateway_jobs',
    help: 'Jobs of each queue by state, as every admin service sees them: take the maximum, not the sum',
    labelNames: ['queue', 'state'],
    registers,
    async collect() {
      const counts = await read();
      this.reset();
      for (const { queue, queued, inProgress, delayed } of counts) {
        this.set({ queue, state: 'waiting' }, queued);
        this.set({ queue, state: 'running' }, inProgress);
        this.set({ queue, state: 'delayed' }, delayed);
      }
    },
  });
  new Gauge({
    name: 'gateway_job_oldest_waiting_seconds',
    help: 'How long the oldest waiting job of each queue has waited; 0 if none waits',
    labelNames: ['queue'],
    registers,
    async collect() {
      const counts = await read();
      this.reset();
      for (const { queue, oldestQueuedAtMs } of counts)
        this.set({ queue }, oldestQueuedAtMs === null ? 0 : Math.max(0, now() - oldestQueuedAtMs) / 1000);
    },
  });
}
