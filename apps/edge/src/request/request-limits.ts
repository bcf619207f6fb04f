import type { ServerResponse } from 'node:http';
import { type Endpoint, isCountedByService, isForWork } from '@gateway/contracts/endpoints/endpoints';
import type { Identity } from '@gateway/contracts/identity';
import type { Entered, RequestEntry } from '@gateway/metering/limits/request-entry';
import type { Refusals } from '@gateway/metering/usage/refusals';
import { deliveryOf } from '@gateway/service-kit/delivery';
import type { RefusalReason } from '@gateway/service-kit/metrics';
import type { EdgeContext } from './edge-context.ts';

export interface RequestLimits {
  /**
   * Counts a request on its key's and its team's limits; undefined if there are none, or if its service counts it. Its
   * slots are free again when its response has ended, also because the caller left.
   *
   * @throws {GatewayError} `rate_limited` (by the promise); `service_unavailable` when Redis is away
   */
  enter(
    response: ServerResponse,
    context: EdgeContext,
    identity: Identity,
    endpoint: Endpoint,
  ): Promise<void> | undefined;
}

interface RequestLimitsOptions {
  readonly entry: RequestEntry;
  readonly refusals: Refusals<RefusalReason>;
}

export function createRequestLimits({ entry, refusals }: RequestLimitsOptions): RequestLimits {
  const enter = async (
    response: ServerResponse,
    identity: Identity,
    endpoint: Endpoint,
    entering: Promise<Entered>,
  ): Promise<void> => {
    const { headers, refusal, release } = await entering;
    for (const [name, value] of headers) response.setHeader(name, value);
    if (refusal !== null) {
      refusals.add(refusal.reason, identity, endpoint);
      throw refusal.error;
    }
    if (response.closed) release();
    else response.once('close', release);
  };

  /** The service counts the request and frees its slots, unless it is lost. */
  const freeIfLost = (response: ServerResponse, context: EdgeContext, identity: Identity): void => {
    if (identity.accounts.length === 0) return;
    response.once('close', () => {
      const delivery = context.serviceLost ? deliveryOf(response.req) : null;
      if (delivery !== null) entry.releaseLost(identity, delivery);
    });
  };

  return {
    enter: (response, context, identity, endpoint) => {
      // Only new work counts: polling a job does not use up its caller's requests, and cancelling frees a slot.
      if (!isForWork(endpoint)) return undefined;
      if (isCountedByService(endpoint)) return void freeIfLost(response, context, identity);
      const entering = entry.enter(identity, context.dialect);
      return entering && enter(response, identity, endpoint, entering);
    },
  };
}
