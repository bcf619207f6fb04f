import type { SpoolState } from '@gateway/metering/meter/spool-state';
import type { Records } from '@gateway/records/open-records';
import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import type { Redis } from 'ioredis';
import { Gauge } from 'prom-client';

interface Sources {
  readonly redis: Pick<Redis, 'info'>;
  readonly records: Pick<Records, 'recordedUntilMs'>;
  readonly readSpool: () => Promise<SpoolState>;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

const MEMORY = /^(used_memory|maxmemory):(\d+)/gm;

/** How full the places are where usage is on its way, as every admin service sees them. While Redis is away, its values are absent. */
export function createStorageMetrics(
  { registry }: MetricsRegistry,
  { redis, records, readSpool, now, onError }: Sources,
): void {
  const registers = [registry];
  new Gauge({
    name: 'gateway_recorder_lag_seconds',
    help: 'How long ago the database had all usage that Redis has; shown by the admin service that records',
    registers,
    collect() {
      const untilMs = records.recordedUntilMs();
      this.remove();
      if (untilMs !== null) this.set(Math.max(0, now() - untilMs) / 1000);
    },
  });
  new Gauge({
    name: 'gateway_usage_spool_bytes',
    help: 'Usage on disk in the data folder that Redis has yet to take, as every admin service sees it: take the maximum',
    registers,
    async collect() {
      this.set((await readSpool()).bytes);
    },
  });
  new Gauge({
    name: 'gateway_redis_memory_bytes',
    help: 'Memory of Redis: used, and its limit where it has one, as every admin service sees it: take the maximum',
    labelNames: ['kind'],
    registers,
    async collect() {
      this.reset();
      const info = await redis.info('memory').catch((error: unknown) => {
        onError(error);
        return '';
      });
      for (const [, name, bytes] of info.matchAll(MEMORY)) {
        if (name === 'used_memory') this.set({ kind: 'used' }, Number(bytes));
        else if (bytes !== '0') this.set({ kind: 'limit' }, Number(bytes));
      }
    },
  });
}
