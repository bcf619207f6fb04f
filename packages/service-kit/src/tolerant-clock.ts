interface Clocks {
  /** Unix milliseconds, of the clock that people set. */
  readonly now: () => number;
  /** Milliseconds of a clock that nobody sets. */
  readonly uptime: () => number;
}

/** How long after it was set the clock still goes by what it said before. */
const TOLERATED_MS = 60_000;
/** Clocks that are corrected bit by bit differ by less. */
const SET_MS = 1000;

/**
 * Unix milliseconds for whether something that was made a moment ago has expired. After the clock was set forward, it goes on for a
 * minute as if it had not been: what was on its way at that moment is still good.
 */
export function createTolerantClock({ now, uptime }: Clocks): () => number {
  let startedAtMs = now() - uptime();
  let setAtMs: number | undefined;
  return () => {
    const nowMs = now();
    const uptimeMs = uptime();
    const withoutSettingMs = startedAtMs + uptimeMs;
    const isSet = Math.abs(nowMs - withoutSettingMs) > SET_MS;
    if (isSet) setAtMs ??= uptimeMs;
    if (isSet && setAtMs !== undefined && uptimeMs - setAtMs < TOLERATED_MS)
      return Math.min(nowMs, withoutSettingMs);
    setAtMs = undefined;
    startedAtMs = nowMs - uptimeMs;
    return nowMs;
  };
}
