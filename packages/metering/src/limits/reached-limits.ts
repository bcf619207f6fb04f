import type { Check } from './admission.ts';

type RateCheck = Extract<Check, { kind: 'rate' }>;

/** A limit on requests that no further request fits for a while, whichever replica asks. */
export interface ReachedLimit {
  readonly ok: false;
  readonly check: RateCheck;
  readonly waitMs: number;
}

/** Remembers which limits are reached, so that a flood of requests is refused without Redis and before their bodies are read. */
export interface ReachedLimits {
  add(check: RateCheck, waitMs: number): void;
  /** The first of the checks that is known to refuse now; undefined if none is. */
  find(checks: readonly Check[]): ReachedLimit | undefined;
}

/** Beyond this number all are forgotten: Redis knows them. */
const MAX_REMEMBERED = 10_000;

/** @param uptime a clock in milliseconds that nobody sets */
export function createReachedLimits(uptime: () => number): ReachedLimits {
  const reachedUntilMs = new Map<string, number>();
  // A changed limit has another name: it may have room at once.
  const nameOf = ({ owner, limit }: RateCheck) => `${limit} ${owner}`;
  return {
    add: (check, waitMs) => {
      if (reachedUntilMs.size >= MAX_REMEMBERED) reachedUntilMs.clear();
      reachedUntilMs.set(nameOf(check), uptime() + waitMs);
    },
    find: (checks) => {
      if (reachedUntilMs.size === 0) return undefined;
      for (const check of checks) {
        if (check.kind !== 'rate') continue;
        const name = nameOf(check);
        const waitMs = Math.ceil((reachedUntilMs.get(name) ?? 0) - uptime());
        if (waitMs > 0) return { ok: false, check, waitMs };
        reachedUntilMs.delete(name);
      }
      return undefined;
    },
  };
}
