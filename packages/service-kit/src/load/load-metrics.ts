import { Counter, Gauge } from 'prom-client';
import type { MetricsRegistry } from '../metrics.ts';

interface LoadMetrics {
  /** A request that was refused because there was too much to do. */
  shed(labels: { readonly reason: string; readonly priority: string }): void;
}

/** @param read what is in flight, each time the page is read */
export function createLoadMetrics(
  { registry }: MetricsRegistry,
  read: () => { readonly requests: number; readonly bodyBytes: number },
): LoadMetrics {
  const registers = [registry];
  const shed = new Counter({
    name: 'gateway_shed_total',
    help: 'Requests that were refused under overload, by the bound and the priority of their key',
    labelNames: ['reason', 'priority'],
    registers,
  });
  new Gauge({
    name: 'gateway_requests_in_flight',
    help: 'Requests in flight',
    registers,
    collect() {
      this.set(read().requests);
    },
  });
  new Gauge({
    name: 'gateway_body_bytes_in_flight',
    help: 'Bytes of request bodies that the process holds in memory',
    registers,
    collect() {
      this.set(read().bodyBytes);
    },
  });
  return { shed: ({ reason, priority }) => shed.inc({ reason, priority }) };
}
