import { type ConsumedUsage, type Consumption, NOTHING_CONSUMED, type ToolCalls } from './usage-record.ts';

/** What both have used together. All else is the answer's. */
export function addConsumed(answer: ConsumedUsage, other: ConsumedUsage): ConsumedUsage {
  const costs = [answer.costMicroUsd, other.costMicroUsd];
  return {
    ...answer,
    channel: answer.channel ?? other.channel,
    consumption: sumOfConsumptions(answer.consumption, other.consumption),
    estimated: answer.estimated || other.estimated,
    costMicroUsd: costs.includes(null) ? null : costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
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

/** Those that few requests have. */
const RARE_COUNTS = [
  'cacheWrite1hTokens',
  'audioInputTokens',
  'cachedAudioTokens',
  'imageInputTokens',
  'cachedImageTokens',
  'audioOutputTokens',
] as const;

export function sumOfConsumptions(one: Consumption, other: Consumption): Consumption {
  const sum = { ...NOTHING_CONSUMED };
  for (const name of COUNTS) sum[name] = one[name] + other[name];
  const rare = RARE_COUNTS.flatMap((name) => {
    const count = (one[name] ?? 0) + (other[name] ?? 0);
    return count > 0 ? [[name, count] as const] : [];
  });
  const toolCalls = sumOfCalls(one.toolCalls ?? {}, other.toolCalls ?? {});
  return {
    ...sum,
    ...Object.fromEntries(rare),
    ...(Object.keys(toolCalls).length > 0 && { toolCalls }),
  };
}

function sumOfCalls(one: ToolCalls, other: ToolCalls): ToolCalls {
  const sum: Record<string, number> = { ...one };
  for (const [tool, calls] of Object.entries(other)) sum[tool] = (sum[tool] ?? 0) + calls;
  return sum;
}
