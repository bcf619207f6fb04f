import type { ServerResponse } from 'node:http';
import { type Endpoint, isForWork } from '@gateway/contracts/endpoints/endpoints';
import type { Identity } from '@gateway/contracts/identity';
import type { Entered, RequestEntry } from '@gateway/metering/limits/request-entry';
import type { Refusals } from '@gateway/metering/usage/refusals';
import type { RefusalReason } from '@gateway/service-kit/metrics';
import type { EdgeContext } from './edge-context.ts';

export interface RequestLimits {
  /**
   * Counts a request on its key's and its team's limits; undefined if there are none. Its slots are free again when its
   * response has ended, also because the caller left.
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

  return {
    enter: (response, { dialect }, identity, endpoint) => {
      // Only new work counts: polling a job does not use up its caller's requests, and cancelling frees a slot.
      if (!isForWork(endpoint)) return undefined;
      const entering = entry.enter(identity, dialect);
      return entering && enter(response, identity, endpoint, entering);
    },
  };
}
