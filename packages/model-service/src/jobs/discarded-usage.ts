import { addConsumed } from '@gateway/contracts/usage/add-consumed';
import type { ConsumedUsage } from '@gateway/contracts/usage/usage-record';

/** What a job's attempts have used whose replies were no answers, beside what its answer uses. */
export interface DiscardedUsage {
  add(usage: ConsumedUsage): void;
  /** What the job has used with that. */
  with(usage: ConsumedUsage): ConsumedUsage;
}

/** @param consumed gets it at once: no other attempt may answer */
export function createDiscardedUsage(consumed: (usage: ConsumedUsage) => void): DiscardedUsage {
  let discarded: ConsumedUsage | null = null;
  return {
    add: (usage) => {
      discarded =
        discarded === null
          ? usage
          : { ...addConsumed(usage, discarded), attempts: usage.attempts + discarded.attempts };
      consumed(discarded);
    },
    with: (usage) => (discarded === null ? usage : addConsumed(usage, discarded)),
  };
}
