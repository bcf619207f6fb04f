import type { Endpoint } from '@gateway/contracts/endpoints/endpoints';
import type { Identity } from '@gateway/contracts/identity';
import type { Refusal, RefusalCounts } from './refusal-counts.ts';
import { type Groups, NO_GROUPS } from './sums.ts';

/** Counts refused requests: in usage, for the key's owner, and as a metric, for the operator. */
export interface Refusals<Reason extends string> {
  add(reason: Reason, identity: Pick<Identity, 'keyId' | 'team'>, endpoint: Pick<Endpoint, 'scope'>): void;
}

/** The outcome of usage that was refused. */
export const REFUSED = 'refused';

/** The groups that a refusal counts in. */
export const refusedGroups = ({ keyId, team, endpoint, model }: Refusal): Groups => ({
  ...NO_GROUPS,
  keyId,
  team: team ?? '',
  model: model ?? '',
  endpoint,
  outcome: REFUSED,
});

/** The name in usage for an endpoint without a scope. */
const OTHER = 'other';

export function createRefusals<Reason extends string>({
  counts,
  metrics,
}: {
  counts: Pick<RefusalCounts, 'add'>;
  metrics: { refused(reason: Reason): void };
}): Refusals<Reason> {
  return {
    add: (reason, { keyId, team }, { scope }) => {
      metrics.refused(reason);
      counts.add({ keyId, team, endpoint: scope ?? OTHER, model: null });
    },
  };
}
