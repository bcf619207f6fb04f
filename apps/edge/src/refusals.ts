import type { Endpoint } from '@gateway/contracts/endpoints';
import type { Identity } from '@gateway/contracts/identity';
import type { RefusalCounts } from '@gateway/metering/usage/refusal-counts';
import type { Metrics, RefusalReason } from '@gateway/service-kit/metrics';

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
  metrics: Pick<Metrics, 'refused'>;
}): Refusals {
  return {
    add: (reason, { keyId, team }, { scope }) => {
      metrics.refused(reason);
      counts.add({ keyId, team, endpoint: scope ?? OTHER, model: null });
    },
  };
}
