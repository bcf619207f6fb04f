/**
 * The records that Redis confirmed in the last seconds: a failover leads to a replica that may not have them yet. They are kept
 * as text, which costs the garbage collector next to nothing.
 */
export interface RecentSettlements {
  add(record: string): void;
  /** All of them, each once, oldest first. They stay: Redis may be emptied or replaced again at once. */
  all(): readonly string[];
}

/** How far a replica may be behind; `min-replicas-max-lag` has the same default. Twice as much is kept at most. */
const KEEP_MS = 10_000;
/** Some three megabytes. The newest are kept. */
const MAX_KEPT = 5_000;

/** @param monotonic milliseconds of a clock that never goes back */
export function createRecentSettlements(monotonic: () => number): RecentSettlements {
  let former: string[] = [];
  let current: string[] = [];
  let beganMs = monotonic();
  return {
    add: (record) => {
      const nowMs = monotonic();
      if (nowMs - beganMs > KEEP_MS || current.length >= MAX_KEPT) {
        former = current;
        current = [];
        beganMs = nowMs;
      }
      current.push(record);
    },
    all: () => [...new Set([...former, ...current])],
  };
}
