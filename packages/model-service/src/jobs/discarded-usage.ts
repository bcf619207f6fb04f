import type { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import type { ConsumedUsage } from '@gateway/contracts/usage/usage-without-reply';

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
      discarded = discarded === null ? usage : sumOf(usage, discarded);
      consumed(discarded);
    },
    with: (usage) => (discarded === null ? usage : sumOf(usage, discarded)),
  };
}

const COUNTS = [
  'inputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
  'images',
  'characters',
  'audioMs',
] as const satisfies readonly (keyof typeof NOTHING_CONSUMED)[];

/** Of media, whose consumption is in these counts; all else is the answer's. */
function sumOf(answer: ConsumedUsage, other: ConsumedUsage): ConsumedUsage {
  const counts = COUNTS.map((name) => [name, answer.consumption[name] + other.consumption[name]]);
  const costs = [answer.costMicroUsd, other.costMicroUsd];
  return {
    ...answer,
    consumption: { ...answer.consumption, ...Object.fromEntries(counts) },
    estimated: answer.estimated || other.estimated,
    costMicroUsd: costs.includes(null) ? null : costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
  };
}
