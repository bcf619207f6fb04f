import type { Endpoint } from '@gateway/contracts/endpoints';
import type { Identity } from '@gateway/contracts/identity';
import type { RefusalCounts } from '@gateway/metering/usage/refusal-counts';
import type { Metrics } from '@gateway/service-kit/metrics';
import { Counter } from 'prom-client';

/** Why the edge refuses a request whose key is valid. */
export type RefusalReason = 'requests_per_minute' | 'concurrent_requests' | 'endpoint';

/** Counts refused requests: in usage, for those who pay, and as a metric, for those who watch. */
export interface Refusals {
  add(reason: RefusalReason, identity: Identity, endpoint: Endpoint): void;
}

/** What usage calls an endpoint that needs no scope. */
const OTHER = 'other';

export function createRefusals({
  counts,
  metrics,
}: {
  counts: RefusalCounts;
  metrics: Pick<Metrics, 'registry'>;
}): Refusals {
  const counter = new Counter({
    name: 'gateway_refused_total',
    help: 'Requests with a valid key that were refused before they reached a service, by reason',
    labelNames: ['reason'],
    registers: [metrics.registry],
  });
  return {
    add: (reason, { keyId, team }, { scope }) => {
      counter.inc({ reason });
      counts.add({ keyId, team, endpoint: scope ?? OTHER, model: null });
    },
  };
}
