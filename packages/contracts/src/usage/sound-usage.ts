import { lastChannelIn } from './usage-detail.ts';
import { UsageResult } from './usage-record.ts';

/**
 * A request's outcome as the ledger can hold it: counts and costs are whole numbers from 0 on. If one is not, the estimate replaces the
 * whole consumption, so that no reply of a provider prevents the record. What failed at every channel counts for the last one.
 *
 * @returns the usage, and the members that were wrong
 */
export function soundUsage(
  given: UsageResult,
  estimate: UsageResult,
): { readonly usage: UsageResult; readonly wrong: readonly string[] } {
  const attempts = given.channel === null ? given.detail?.attempts : undefined;
  const result = attempts === undefined ? given : { ...given, channel: lastChannelIn(attempts) };
  if (hasSoundNumbers(result)) return { usage: result, wrong: [] };
  const wrong = wrongMembers(result);
  if (wrong.length === 0) return { usage: result, wrong };
  const { consumption, costMicroUsd } = estimate;
  const usage = { ...result, consumption, costMicroUsd, estimated: true };
  if (wrongMembers(usage).length === 0) return { usage, wrong };
  return { usage: { ...estimate, outcome: result.outcome, estimated: true }, wrong };
}

const wrongMembers = (result: UsageResult): string[] =>
  UsageResult.safeParse(result).error?.issues.map(({ path }) => path.join('.')) ?? [];

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
const isDuration = (value: number): boolean => Number.isFinite(value) && value >= 0;

/** Nearly every result has: the schema is read for those that have not, to name what is wrong. */
function hasSoundNumbers({
  consumption,
  costMicroUsd,
  attempts,
  durationMs,
  firstByteMs,
}: UsageResult): boolean {
  return (
    isCount(consumption.inputTokens) &&
    isCount(consumption.cachedInputTokens) &&
    isCount(consumption.cacheWriteTokens) &&
    isCount(consumption.cacheWrite1hTokens ?? 0) &&
    isCount(consumption.outputTokens) &&
    isCount(consumption.reasoningTokens) &&
    isCount(consumption.audioInputTokens ?? 0) &&
    isCount(consumption.cachedAudioTokens ?? 0) &&
    isCount(consumption.imageInputTokens ?? 0) &&
    isCount(consumption.cachedImageTokens ?? 0) &&
    isCount(consumption.audioOutputTokens ?? 0) &&
    isCount(consumption.images) &&
    isCount(consumption.characters) &&
    isCount(consumption.audioMs) &&
    Object.values(consumption.toolCalls ?? {}).every(isCount) &&
    (costMicroUsd === null || isCount(costMicroUsd)) &&
    isCount(attempts) &&
    isDuration(durationMs) &&
    (firstByteMs === null || isDuration(firstByteMs))
  );
}
