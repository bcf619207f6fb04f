import type { MetricsRegistry } from '@gateway/service-kit/metrics';
import { Counter, Gauge } from 'prom-client';

/** Who or what ended a session. */
export type CloseReason =
  | 'caller'
  | 'lost'
  | 'silent'
  | 'slow'
  | 'flood'
  | 'idle'
  | 'age'
  | 'key'
  | 'budget'
  | 'upstream'
  | 'restart'
  /** It was not let in. */
  | 'refused'
  /** No channel began it. */
  | 'opening';

export interface RealtimeMetrics {
  opened(): void;
  closed(reason: CloseReason): void;
}

export function createRealtimeMetrics({ registry }: MetricsRegistry): RealtimeMetrics {
  const registers = [registry];
  const open = new Gauge({
    name: 'gateway_realtime_sessions_open',
    help: 'Realtime sessions that are open now',
    registers,
  });
  const closed = new Counter({
    name: 'gateway_realtime_sessions_closed_total',
    help: 'Realtime sessions that ended, by who or what ended them',
    labelNames: ['reason'],
    registers,
  });
  return {
    opened: () => open.inc(),
    closed: (reason) => {
      open.dec();
      closed.inc({ reason });
    },
  };
}
