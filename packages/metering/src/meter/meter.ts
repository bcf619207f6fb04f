import { errorMessage } from '@gateway/contracts/error-message';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Account } from '@gateway/contracts/identity';
import { soundUsage } from '@gateway/contracts/usage/sound-usage';
import { UsageRecord, type UsageResult, type UsageSubject } from '@gateway/contracts/usage/usage-record';
import type { Charge } from '../ledger/charge.ts';
import { type AdmittedAndReserved, amountsOf, type Ledger, type Reserved } from '../ledger/ledger.ts';
import type { Rate } from '../limits/rate-limit-headers.ts';
import type { PendingEntry } from '../limits/request-entry.ts';
import { chargesOf } from './account-charges.ts';
import { budgetNotice } from './budget-notice.ts';
import { type RefusedFor, reasonOf, refusalOf, refuseUnpriced } from './refusal.ts';
import { createUpkeep } from './upkeep.ts';
import type { SpooledUsage, UsageSpool } from './usage-spool.ts';

export interface MeterOptions {
  readonly ledger: Ledger;
  readonly spool: UsageSpool;
  readonly now: () => number;
  /** IANA name of the time zone; budget periods begin at its midnight. */
  readonly timeZone: string;
  /** Called for failures outside the requests: usage that was spooled or could not be replayed. */
  readonly report: (problem: MeterProblem) => void;
  /** Called for each refused request, with the reason. */
  readonly onRefused: (reason: RefusedFor, subject: UsageSubject) => void;
  /** Called for each request that was let in on a budget that is nearly spent. */
  readonly onBudgetNear: () => void;
  /** Called with each request's record that this process is the first to settle. */
  readonly onSettled?: ((record: UsageRecord) => void) | undefined;
}

export interface MeterProblem {
  readonly what:
    | 'reserve'
    | 'usage'
    | 'settle'
    | 'spool'
    | 'renew'
    | 'release'
    | 'sweep'
    | 'replay'
    | 'restored'
    | 'broken record';
  /** Only the error's message: Redis' errors contain whole commands. */
  readonly reason: string;
}

/** What will be consumed at most, and by whom. */
export interface Demand {
  readonly subject: UsageSubject;
  readonly accounts: readonly Account[];
  readonly estimate: UsageResult;
  /**
   * The most that it can cost, where that is more than the estimate, since it names what nobody knows the size of. Budgets
   * reserve this; limits on tokens reserve the estimate, and count what was really used when it is known.
   */
  readonly mostMicroUsd?: number | undefined;
  /**
   * For work that another process will settle: how long the reservation lasts without renewal. Absent: this process renews
   * it until it settles.
   */
  readonly leaseMs?: number;
  /** The caller will demand less if this is refused: the refusal is not counted. */
  readonly isTentative?: boolean;
  /** The request has yet to be counted on its limits on requests: that goes in the same round trip. */
  readonly entry?: Pick<PendingEntry, 'isCounted' | 'count'> | undefined;
}

/** A request that has been let in. */
export interface Metered {
  /** Records the outcome. Only the first call counts; it never fails, and callers need not wait for it. */
  settle(result: UsageResult): Promise<void>;
  /**
   * Leaves the settling to `Meter.settleOnce`, by any process; after this time it is charged as estimated. False if
   * nothing is reserved: then the caller settles it now.
   */
  keep(leaseMs: number): Promise<boolean>;
  /** Gives back all of it instead of settling it: what it was reserved for is settled with another. Leaves no record; it never fails. */
  release(): Promise<void>;
  /** The value of `BUDGET_HEADER`; null for no header. */
  readonly budgetNotice: string | null;
  /** The token limit with the least left when the request was let in; null if it counts on none. */
  readonly tokenRate: Rate | null;
}

export interface Meter {
  /**
   * Reserves before the upstream is called.
   *
   * @throws {GatewayError} `rate_limited`, `rate_limited_tokens`, `budget_exhausted`, `unpriced_model`; `service_unavailable`
   * when limits or budgets apply and Redis is away
   */
  begin(demand: Demand): Promise<Metered>;
  /** Takes up a reservation that another process made: a job's, whose usage is sound (`soundUsage`). */
  resume(subject: UsageSubject): Pick<Metered, 'settle' | 'release'>;
  /** Settles a kept reservation. True if this call did it, false if it was settled before; it never fails. */
  settleOnce(subject: UsageSubject, result: UsageResult): Promise<boolean>;
  /**
   * Resolves when what has been settled and released in this turn of the event loop is on its way to Redis: it comes before
   * whatever a caller sends who learns of an end after that.
   */
  sent(): Promise<void>;
  /**
   * Settles again what Redis had confirmed, each as JSON, after it was set back: what it still knows is not settled twice.
   * Resolves to how many it had lost; it never fails.
   */
  restore(records: readonly string[]): Promise<number>;
  /** Waits for the settlements that are running. */
  close(): Promise<void>;
}

/** What a request was let in with: the state of its limits, and the estimate that replaces invalid usage. */
interface LetIn extends Pick<Metered, 'budgetNotice' | 'tokenRate'> {
  readonly estimate?: UsageResult;
}

const NO_LIMITS: LetIn = { budgetNotice: null, tokenRate: null };

/** A reservation outlives its process by this time, then is charged as estimated. */
const LEASE_MS = 60_000;
const UPKEEP_EVERY_MS = 15_000;
const RETRY_AFTER_SECONDS = 2;
/** The most reservations of unknown state that are kept to be released; others expire with their leases. */
const MAX_DOUBTFUL = 10_000;

/** One per process: reserves and settles, renews leases, settles for processes that ended, replays the spool. */
export function createMeter(options: MeterOptions): Meter {
  const { ledger, spool, now, timeZone, report, onRefused, onBudgetNear } = options;
  const { onSettled = () => undefined } = options;
  const open = new Set<string>();
  /** Redis did not answer in time: it may still have the reservation, or make it later. */
  const doubtful = new Set<string>();
  // A count and not a set of promises: entries of a long-lived set survive young garbage collection.
  let settling = 0;
  let onQuiet: (() => void) | undefined;

  const doubt = (id: string): void => {
    if (doubtful.size < MAX_DOUBTFUL) doubtful.add(id);
  };

  const attempt = async (what: MeterProblem['what'], action: () => Promise<unknown>): Promise<boolean> => {
    try {
      await action();
      return true;
    } catch (cause) {
      report({ what, reason: errorMessage(cause) });
      return false;
    }
  };

  const settle = ({ record }: SpooledUsage): Promise<boolean> => {
    const { id, keyId, team, endpoint, model, startedAtMs, requestId, ...result } = record;
    return ledger.settle({ id, keyId, team, endpoint, model, startedAtMs, requestId }, result);
  };

  const settleOrSpool = async (usage: SpooledUsage): Promise<boolean> => {
    open.delete(usage.record.id);
    let isFirst = true;
    const isSettled = await attempt('settle', async () => {
      isFirst = await settle(usage);
    });
    if (!isSettled) await attempt('spool', () => spool.add(usage));
    return isFirst;
  };

  const settleNow = async (record: UsageRecord): Promise<boolean> => {
    const isFirst = await settleOrSpool({ record });
    if (isFirst) onSettled(record);
    return isFirst;
  };

  const soundResult = (id: string, result: UsageResult, estimate: UsageResult): UsageResult => {
    const { usage, wrong } = soundUsage(result, estimate);
    if (wrong.length > 0)
      report({ what: 'usage', reason: `${id}: no amounts in ${wrong.join(', ')}; charged as estimated` });
    return usage;
  };

  /** Without an estimate the result must be sound already. */
  const metered = (
    subject: UsageSubject,
    reserving: Promise<boolean>,
    { estimate, ...limits }: LetIn = NO_LIMITS,
  ): Metered => {
    let settled: Promise<void> | undefined;
    return {
      ...limits,
      settle: (result) => {
        const sound = estimate === undefined ? result : soundResult(subject.id, result, estimate);
        settled ??= track(
          reserving.then(async () => {
            await settleNow({ ...subject, ...sound });
          }),
        );
        return settled;
      },
      release: () => {
        settled ??= track(
          reserving.then(async () => {
            open.delete(subject.id);
            if (!(await attempt('release', () => ledger.release(subject.id)))) doubt(subject.id);
          }),
        );
        return settled;
      },
      keep: async (leaseMs) => {
        if (!(await reserving)) return false;
        open.delete(subject.id);
        return attempt('renew', () => ledger.renew([subject.id], leaseMs));
      },
    };
  };

  const track = async <Outcome>(work: Promise<Outcome>): Promise<Outcome> => {
    settling += 1;
    const outcome = await work;
    settling -= 1;
    if (settling === 0) onQuiet?.();
    return outcome;
  };

  const releaseDoubtful = async (): Promise<void> => {
    for (const id of doubtful) {
      await ledger.release(id);
      doubtful.delete(id);
    }
  };

  const upkeep = createUpkeep({
    ledger,
    spool,
    openIds: () => [...open],
    leaseMs: LEASE_MS,
    release: releaseDoubtful,
    settle: async (usage) => {
      await settle(usage);
    },
    attempt,
  });
  const timer = setInterval(() => void upkeep(), UPKEEP_EVERY_MS).unref();

  return {
    begin: async ({ subject, accounts, estimate, mostMicroUsd, leaseMs, isTentative = false, entry }) => {
      if (estimate.costMicroUsd === null)
        refuseUnpriced(subject.model, accounts, () => onRefused('unpriced_model', subject));
      const charges = chargesOf(accounts, subject.model, timeZone);
      const reservation = { subject, estimate, mostMicroUsd, charges, leaseMs: leaseMs ?? LEASE_MS };
      const isCounted = entry === undefined || entry.isCounted;
      const reserving = isCounted
        ? ledger.reserve(reservation)
        : entry.count((admission) => ledger.enter(admission, reservation)).then(reservedIn);
      if (leaseMs === undefined) open.add(subject.id);
      if (isCounted && charges.length === 0 && leaseMs === undefined) {
        // Nothing can refuse it, so no request waits: Redis takes commands in order, the settling comes after it.
        return metered(
          subject,
          attempt('reserve', () => reserving),
          { ...NO_LIMITS, estimate },
        );
      }
      const answer = await reserving.catch((cause: unknown) => {
        open.delete(subject.id);
        // Refused by a limit on requests: nothing was reserved.
        if (cause instanceof GatewayError) throw cause;
        doubt(subject.id);
        throw new GatewayError('service_unavailable', {
          message: `The gateway cannot check this key's limits at the moment. Please try again in ${RETRY_AFTER_SECONDS} seconds.`,
          retryAfterSeconds: RETRY_AFTER_SECONDS,
          cause,
        });
      });
      if (answer.ok) {
        // A try before may be in doubt: what is reserved now is this one's too.
        doubtful.delete(subject.id);
        const notice = budgetNotice(charges, answer.remaining);
        if (notice !== null) onBudgetNear();
        const tokenRate = tightestTokenRate(charges, answer.remaining);
        return metered(subject, Promise.resolve(true), { estimate, budgetNotice: notice, tokenRate });
      }
      open.delete(subject.id);
      if (!isTentative) onRefused(reasonOf(answer.charge), subject);
      throw refusalOf(answer, amountsOf(estimate)[answer.charge.dimension] ?? 0, now());
    },
    resume: (subject) => metered(subject, Promise.resolve(true)),
    settleOnce: (subject, result) => track(settleNow({ ...subject, ...result })),
    sent: () => ledger.sent(),
    restore: async (records) => {
      const usages = records.map((record) => ({ record: UsageRecord.parse(JSON.parse(record)) }));
      const lost = (await Promise.all(usages.map((usage) => track(settleOrSpool(usage))))).filter(Boolean);
      if (lost.length > 0)
        report({
          what: 'restored',
          reason: `Redis was set back: ${lost.length} of the last ${usages.length} settlements were lost and are made again`,
        });
      return lost.length;
    },
    close: async () => {
      clearInterval(timer);
      if (settling > 0)
        await new Promise<void>((resolve) => {
          onQuiet = resolve;
        });
    },
  };
}

/** What was reserved for an admitted request. */
function reservedIn({ reserved }: AdmittedAndReserved): Reserved {
  if (reserved === null) throw new Error('nothing was reserved for an admitted request');
  return reserved;
}

/** The token limit of a request with the least left. */
function tightestTokenRate(charges: readonly Charge[], remaining: readonly number[]): Rate | null {
  let tightest: Rate | null = null;
  for (const [index, { kind, dimension, limit }] of charges.entries()) {
    const left = remaining[index];
    if (kind !== 'rate' || dimension !== 'tokens' || left === undefined) continue;
    if (tightest === null || left < tightest.remaining) tightest = { unit: 'tokens', limit, remaining: left };
  }
  return tightest;
}
