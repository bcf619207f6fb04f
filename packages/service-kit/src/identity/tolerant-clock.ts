interface Clocks {
  /** Unix milliseconds, of the clock that people set. */
  readonly now: () => number;
  /** Milliseconds of a clock that nobody sets. */
  readonly uptime: () => number;
}

/** How long after a change of the clock its earlier time still counts. */
const TOLERATED_MS = 60_000;
/** Clocks that are corrected bit by bit differ by less. */
const SET_MS = 1000;

/** How far the clock that people set was ahead of the other one. */
interface Setting {
  aheadMs: number;
  /** Of the clock that nobody sets. */
  lastSeenAtMs: number;
}

/**
 * A time in Unix milliseconds for checks whether something new has expired: the earliest time by any setting
 * of the clock in the last minute. So a token that was sent while the clock was set forward stays valid,
 * however often the clock is set.
 */
export function createTolerantClock({ now, uptime }: Clocks): () => number {
  /** The current setting is the last. Those before it were seen within the tolerated time, and each gives an earlier time. */
  const settings: Setting[] = [{ aheadMs: now() - uptime(), lastSeenAtMs: uptime() }];
  return () => {
    const uptimeMs = uptime();
    const aheadMs = now() - uptimeMs;
    const current = settings.at(-1);
    if (current !== undefined) current.lastSeenAtMs = uptimeMs;
    while ((settings.at(-1)?.aheadMs ?? Number.NEGATIVE_INFINITY) > aheadMs + SET_MS) settings.pop();
    const last = settings.at(-1);
    if (last !== undefined && aheadMs <= last.aheadMs + SET_MS)
      Object.assign(last, { aheadMs, lastSeenAtMs: uptimeMs });
    else settings.push({ aheadMs, lastSeenAtMs: uptimeMs });
    while (uptimeMs - (settings[0]?.lastSeenAtMs ?? uptimeMs) >= TOLERATED_MS) settings.shift();
    return uptimeMs + (settings[0]?.aheadMs ?? aheadMs);
  };
}
