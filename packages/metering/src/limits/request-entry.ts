import { randomUUID } from 'node:crypto';
import { type Dialect, GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { awaitRedis } from '../keys/await-redis.ts';
import { checksOf } from './account-checks.ts';
import type { Admission, Admitted, Check } from './admission.ts';
import { type Rate, rateLimitHeaders } from './rate-limit-headers.ts';

/** A request that its key's and its team's limits on requests let in, or not. */
export interface Entered {
  /** The state of the tightest limit, for the reply. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly refusal: EntryRefusal | null;
  /** Frees the request's slots; nothing is left to free after a refusal. */
  release(): void;
}

export interface EntryRefusal {
  readonly reason: 'requests_per_minute' | 'concurrent_requests';
  /** `rate_limited` */
  readonly error: GatewayError;
}

export interface RequestEntry {
  /**
   * Counts a request on its key's and its team's limits; undefined if there are none.
   *
   * @throws {GatewayError} `service_unavailable` (by the promise) when Redis is away
   */
  enter(identity: Identity, dialect: Dialect): Promise<Entered> | undefined;
}

interface RequestEntryOptions {
  readonly admission: Admission;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The end of another request cannot be predicted; this is the least time to wait. */
const SLOT_WAIT_MS = 1000;

export function createRequestEntry({ admission, now }: RequestEntryOptions): RequestEntry {
  const replica = randomUUID();
  let entered = 0;

  const enter = async (identity: Identity, dialect: Dialect, checks: readonly Check[]): Promise<Entered> => {
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
    const headers = rate === undefined ? [] : rateLimitHeaders(rate, dialect, now());
    return answer.ok
      ? { headers, refusal: null, release }
      : { headers, refusal: refusalOf(answer, identity), release: () => undefined };
  };

  return {
    enter: (identity, dialect) => {
      if (identity.accounts.length === 0) return undefined;
      const checks = checksOf(identity.accounts);
      return checks.length === 0 ? undefined : enter(identity, dialect, checks);
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

function refusalOf({ check, waitMs }: Extract<Admitted, { ok: false }>, { keyId }: Identity): EntryRefusal {
  const whose = check.owner === keyId ? 'of your key' : 'of your team';
  const afterMs = Math.max(1, waitMs ?? SLOT_WAIT_MS);
  const what =
    check.kind === 'rate'
      ? `Rate limit ${whose} reached on requests per minute: Limit ${check.limit}, Requested 1.`
      : `Limit ${whose} reached on requests at the same time: Limit ${check.limit}.`;
  return {
    reason: check.kind === 'rate' ? 'requests_per_minute' : 'concurrent_requests',
    error: new GatewayError('rate_limited', {
      message: `${what} Please try again in ${afterMs / 1000}s.`,
      retryAfterSeconds: afterMs / 1000,
      headers: { 'retry-after-ms': String(afterMs) },
    }),
  };
}
