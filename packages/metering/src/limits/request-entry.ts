import { randomUUID } from 'node:crypto';
import { type Dialect, GatewayError } from '@gateway/contracts/gateway-error';
import type { Delivery, Identity } from '@gateway/contracts/identity';
import { awaitRedis } from '../keys/await-redis.ts';
import { checksOf } from './account-checks.ts';
import type { Admission, Admitted, Check, PendingAdmission } from './admission.ts';
import { type Rate, rateLimitHeaders } from './rate-limit-headers.ts';
import { createReachedLimits } from './reached-limits.ts';

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

/** A request that is counted in one step with what it reserves. */
export interface PendingEntry {
  /** Whether it has been counted, or is being counted. */
  readonly isCounted: boolean;
  /** A limit did not let it in. */
  readonly isRefused: boolean;
  /**
   * Counts it by a step that its admission is part of.
   *
   * @throws {GatewayError} `rate_limited`; anything else is what the step throws
   */
  count<Answer extends { readonly admitted: Admitted }>(
    step: (admission: PendingAdmission) => Promise<Answer>,
  ): Promise<Answer>;
  /** Counts it by itself. @throws {GatewayError} `rate_limited`; `service_unavailable` when Redis is away */
  countAlone(): Promise<void>;
  /** Frees its slots, which nobody may notice before `OperationBatch.sent`. Does nothing where it has none any more. */
  release(): void;
}

interface Opening {
  readonly delivery: Delivery | null;
  /** Called once, with how the request was let in or refused. */
  readonly onEntered: (entered: Entered) => void;
}

export interface RequestEntry {
  /**
   * Counts a request on its key's and its team's limits; undefined if there are none.
   *
   * @throws {GatewayError} `service_unavailable` (by the promise) when Redis is away
   */
  enter(identity: Identity, dialect: Dialect): Promise<Entered> | undefined;
  /**
   * The same for a request that is counted later, with what it reserves.
   *
   * @throws {GatewayError} `rate_limited` at once where the limit is known to be reached
   */
  open(identity: Identity, dialect: Dialect, opening: Opening): PendingEntry | undefined;
  /** Frees the slots of a delivered request whose service was lost. */
  releaseLost(identity: Identity, delivery: Delivery): void;
}

interface RequestEntryOptions {
  readonly admission: Admission;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** A clock in milliseconds that nobody sets. */
  readonly uptime?: () => number;
}

/** The end of another request cannot be predicted; this is the least time to wait. */
const SLOT_WAIT_MS = 1000;

export function createRequestEntry({
  admission,
  now,
  uptime = () => performance.now(),
}: RequestEntryOptions): RequestEntry {
  const replica = randomUUID();
  const reached = createReachedLimits(uptime);
  let entered = 0;

  // Not the request's id: callers may choose that, and could share one slot among many requests.
  const newSlot = () => {
    entered += 1;
    return `${replica}:${entered}`;
  };

  const enteredBy = (
    answer: Admitted,
    { identity, dialect, checks, release }: Entering & { readonly release: () => void },
  ): Entered => {
    const rate = rateOf(answer, checks);
    const headers = rate === undefined ? [] : rateLimitHeaders(rate, dialect, now());
    if (answer.ok) return { headers, refusal: null, release };
    const { check, waitMs } = answer;
    if (check.kind === 'rate' && waitMs !== null) reached.add(check, waitMs);
    return { headers, refusal: refusalOf(answer, identity), release: () => undefined };
  };

  /** How a request is refused whose limit is known to be reached. */
  const refusedAtOnce = (entering: Entering): (Entered & { readonly refusal: EntryRefusal }) | undefined => {
    const known = reached.find(entering.checks);
    return (
      known && {
        headers: rateLimitHeaders(reachedRate(known.check), entering.dialect, now()),
        refusal: refusalOf(known, entering.identity),
        release: () => undefined,
      }
    );
  };

  const enter = async (entering: Entering): Promise<Entered> => {
    const { checks } = entering;
    const slot = newSlot();
    const release = () => admission.release(slot, checks);
    const answer = await awaitRedis(admission.admit(slot, checks)).catch((error: unknown) => {
      // It may have been let in, and only the answer was lost.
      release();
      throw error;
    });
    return enteredBy(answer, { ...entering, release });
  };

  const open = (entering: Entering, { delivery, onEntered }: Opening): PendingEntry => {
    const { checks } = entering;
    const slot = delivery === null ? newSlot() : slotOf(delivery);
    const pending = admission.prepare(slot, checks, delivery?.isSecond ? delivery.id : undefined);
    let isCounted = false;
    let isRefused = false;
    let holdsSlots = false;
    const release = () => {
      if (holdsSlots) admission.release(slot, checks);
      holdsSlots = false;
    };

    const count: PendingEntry['count'] = async (step) => {
      isCounted = true;
      const answer = await step(pending).catch((error: unknown) => {
        // It may have been let in, and only the answer was lost.
        admission.release(slot, checks);
        throw error;
      });
      const result = enteredBy(answer.admitted, { ...entering, release });
      isRefused = result.refusal !== null;
      holdsSlots = !isRefused;
      onEntered(result);
      if (result.refusal !== null) throw result.refusal.error;
      return answer;
    };
    return {
      get isCounted() {
        return isCounted;
      },
      get isRefused() {
        return isRefused;
      },
      count,
      release,
      countAlone: async () => {
        await awaitRedis(count(async (sent) => ({ admitted: await admission.send(sent) })));
      },
    };
  };

  const enteringOf = (identity: Identity, dialect: Dialect): Entering | undefined => {
    if (identity.accounts.length === 0) return undefined;
    const checks = checksOf(identity.accounts);
    return checks.length === 0 ? undefined : { identity, dialect, checks };
  };

  return {
    enter: (identity, dialect) => {
      const entering = enteringOf(identity, dialect);
      if (entering === undefined) return undefined;
      const refused = refusedAtOnce(entering);
      return refused === undefined ? enter(entering) : Promise.resolve(refused);
    },
    open: (identity, dialect, opening) => {
      const entering = enteringOf(identity, dialect);
      if (entering === undefined) return undefined;
      const refused = refusedAtOnce(entering);
      if (refused === undefined) return open(entering, opening);
      opening.onEntered(refused);
      throw refused.refusal.error;
    },
    releaseLost: (identity, delivery) => admission.release(slotOf(delivery), checksOf(identity.accounts)),
  };
}

/** A replica that is still there frees its own slot only. */
const slotOf = ({ id, isSecond }: Delivery): string => (isSecond ? `${id}:second` : id);

/** A request that some limits on requests apply to. */
interface Entering {
  readonly identity: Identity;
  readonly dialect: Dialect;
  readonly checks: readonly Check[];
}

/** The rate to show: of a refusal the one that refused, else the one with the least left. */
function rateOf(answer: Admitted, checks: readonly Check[]): Rate | undefined {
  if (!answer.ok) return answer.check.kind === 'rate' ? reachedRate(answer.check) : undefined;
  let tightest: Rate | undefined;
  checks.forEach(({ kind, limit }, index) => {
    const remaining = answer.remaining[index] ?? 0;
    if (kind === 'rate' && (tightest === undefined || remaining < tightest.remaining))
      tightest = { unit: 'requests', limit, remaining };
  });
  return tightest;
}

const reachedRate = ({ limit }: Check): Rate => ({ unit: 'requests', limit, remaining: 0 });

function refusalOf({ check, waitMs }: Extract<Admitted, { ok: false }>, { keyId }: Identity): EntryRefusal {
  const whose = check.owner === keyId ? 'of your key' : 'of your team';
  const afterMs = Math.max(1, waitMs ?? SLOT_WAIT_MS);
  const what =
    check.kind === 'rate'
      ? `Rate limit ${whose} reached on requests per minute: Limit ${check.limit}, Requested 1.`
      : `Limit ${whose} reached on concurrent requests: Limit ${check.limit}.`;
  return {
    reason: check.kind === 'rate' ? 'requests_per_minute' : 'concurrent_requests',
    error: new GatewayError('rate_limited', {
      message: `${what} Please try again in ${afterMs / 1000}s.`,
      retryAfterSeconds: afterMs / 1000,
      headers: { 'retry-after-ms': String(afterMs) },
    }),
  };
}
