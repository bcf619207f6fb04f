import type { Metered } from '@gateway/metering/meter/meter';
import { requestIdOf } from '@gateway/service-kit/request/request-id';
import type { TextCall } from '../request/text-call.ts';
import { costlyRequest, isNotCovered } from './metered-call.ts';

/** The requests that an answer takes beside its first one, since its provider pauses. Each can cost as much as the first. */
export interface FurtherRequests {
  /** Reserves another one on the caller's budgets; false where they do not cover it. */
  reserve(): Promise<boolean>;
  /** Gives all of it back: what they cost is settled with the call. */
  release(): void;
}

export function furtherRequests(call: TextCall): FurtherRequests {
  const { services, identity, endpoint, request, context } = call;
  // Limits on tokens count what was really used when it is known.
  const accounts = identity.accounts
    .filter(({ budget }) => budget !== null)
    .map((account) => ({ ...account, limits: {} }));
  const reserved: Metered[] = [];
  let isOver = false;
  return {
    reserve: async () => {
      const { estimate, mostMicroUsd } = costlyRequest(call);
      if (accounts.length === 0 || estimate.costMicroUsd === null) return true;
      const subject = {
        id: requestIdOf(undefined),
        keyId: identity.keyId,
        team: identity.team,
        endpoint: endpoint.protocol,
        model: request.model,
        startedAtMs: services.now(),
        requestId: context.requestId,
      };
      try {
        const demand = { subject, accounts, estimate, mostMicroUsd, isTentative: true };
        const one = await services.meter.begin(demand);
        // Its caller may have left meanwhile.
        if (isOver) void one.release();
        else reserved.push(one);
        return !isOver;
      } catch (error) {
        if (isNotCovered(error)) return false;
        throw error;
      }
    },
    release: () => {
      isOver = true;
      for (const one of reserved) void one.release();
    },
  };
}
