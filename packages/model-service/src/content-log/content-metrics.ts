import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import { Counter, Gauge } from 'prom-client';
import type { ContentSpool } from './content-spool.ts';

/** Why the content of a request is not in the log: too much waits, the disk or the spool takes nothing, it cannot be written. */
export type LossReason = 'busy' | 'spool_full' | 'disk' | 'unwritable';

/** What a process that logs content counts. */
export interface ContentMetrics {
  written(): void;
  lost(reason: LossReason): void;
}

export function createContentMetrics(
  { registry }: MetricsRegistry,
  spool: Pick<ContentSpool, 'sizeBytes'>,
): ContentMetrics {
  const registers = [registry];
  const written = new Counter({
    name: 'gateway_content_log_requests_total',
    help: 'Requests whose content was written to the content log',
    registers,
  });
  const lost = new Counter({
    name: 'gateway_content_log_lost_total',
    help: 'Requests whose content was to be logged and was lost, by why',
    labelNames: ['reason'],
    registers,
  });
  new Gauge({
    name: 'gateway_content_log_spool_bytes',
    help: 'Content on disk that has yet to be brought to the store',
    registers,
    collect() {
      this.set(spool.sizeBytes);
    },
  });
  return { written: () => written.inc(), lost: (reason) => lost.inc({ reason }) };
}
