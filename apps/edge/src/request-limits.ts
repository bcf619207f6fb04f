import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Endpoint } from '@gateway/contracts/endpoints';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import { checksOf } from '@gateway/metering/limits/account-checks';
import type { Admission, Admitted, Check } from '@gateway/metering/limits/admission';
import { type Rate, rateLimitHeaders } from '@gateway/metering/limits/rate-limit-headers';
import type { EdgeContext } from './edge-context.ts';
import type { Refusals } from './refusals.ts';

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
  readonly admission: Admission;
  readonly refusals: Refusals;
  readonly now: () => number;
}

/**
 * Only requests for new work count. Reading, deleting and cancelling (`GET`, `DELETE`, paths with an id) count on no
 * limit: polling a job does not use up its caller's requests, and cancelling frees a slot.
 */
const isForWork = ({ method, path }: Endpoint): boolean => method === 'POST' && !path.includes('{');

/** The end of another request cannot be predicted; this is the least time to wait. */
const SLOT_WAIT_MS = 1000;

export function createRequestLimits({ admission, refusals, now }: RequestLimitsOptions): RequestLimits {
  const replica = randomUUID();
  let entered = 0;

  const enter = async (
    response: ServerResponse,
    context: EdgeContext,
    identity: Identity,
    endpoint: Endpoint,
    checks: readonly Check[],
  ): Promise<void> => {
    // Not the request's id: callers may choose that, and could share one slot among many requests.
    entered += 1;
    const slot = `${replica}:${entered}`;
    const release = () => admission.release(slot, checks);
    const answer = await awaitRedis(admission.admit(slot, checks)).catch((error: unknown) => {
      // It may have been let in, and only the answer was lost.
      release();
      throw error;
    });
    const rate = rateOf(answer, checks);
    if (rate !== undefined)
      for (const [name, value] of rateLimitHeaders(rate, context.dialect, now()))
        response.setHeader(name, value);
    if (!answer.ok) {
      const reason = answer.check.kind === 'rate' ? 'requests_per_minute' : 'concurrent_requests';
      refusals.add(reason, identity, endpoint);
      throw refusalOf(answer, identity);
    }
    if (response.closed) release();
    else response.once('close', release);
  };

  return {
    enter: (response, context, identity, endpoint) => {
      if (identity.accounts.length === 0 || !isForWork(endpoint)) return undefined;
      const checks = checksOf(identity.accounts);
      return checks.length === 0 ? undefined : enter(response, context, identity, endpoint, checks);
    },
  };
}

/** The rate to show: of a refusal the one that refused, else the one with the least left. */
function rateOf(answer: Admitted, checks: readonly Check[]): Rate | undefined {
  if (!answer.ok)
    return answer.check.kind === 'rate'
      ? { unit: 'requests', limit: answer.check.limit, remaining: 0 }
      : undefined;
  let tightest: Rate | undefined;
  checks.forEach(({ kind, limit }, index) => {
    const remaining = answer.remaining[index] ?? 0;
    if (kind === 'rate' && (tightest === undefined || remaining < tightest.remaining))
      tightest = { unit: 'requests', limit, remaining };
  });
  return tightest;
}

function refusalOf({ check, waitMs }: Extract<Admitted, { ok: false }>, { keyId }: Identity): GatewayError {
  const whose = check.owner === keyId ? 'of your key' : 'of your team';
  const afterMs = Math.max(1, waitMs ?? SLOT_WAIT_MS);
  const what =
    check.kind === 'rate'
      ? `Rate limit ${whose} reached on requests per minute: Limit ${check.limit}, Requested 1.`
      : `Limit ${whose} reached on requests at the same time: Limit ${check.limit}.`;
  return new GatewayError('rate_limited', {
    message: `${what} Please try again in ${afterMs / 1000}s.`,
    retryAfterSeconds: afterMs / 1000,
    headers: { 'retry-after-ms': String(afterMs) },
  });
}
