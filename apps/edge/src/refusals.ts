import type { Endpoint } from '@gateway/contracts/endpoints';
import type { Identity } from '@gateway/contracts/identity';
import type { RefusalCounts } from '@gateway/metering/usage/refusal-counts';
import type { Metrics, RefusalReason } from '@gateway/service-kit/metrics';

/** Counts refused requests: in usage, for the key's owner, and as a metric, for the operator. */
export interface Refusals {
  add(reason: RefusalReason, identity: Identity, endpoint: Endpoint): void;
}

/** The name in usage for an endpoint without a scope. */
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
