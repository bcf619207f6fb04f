import { UsageResult } from './usage-record.ts';

/**
 * How a request went, in numbers that the books can hold: counts and costs are whole numbers from 0 on. Where one is not,
 * the estimate stands for all that was consumed, so that no reply of a provider costs us the record.
 *
 * @returns the usage, and the members that were wrong
 */
export function soundUsage(
  result: UsageResult,
  estimate: UsageResult,
): { readonly usage: UsageResult; readonly wrong: readonly string[] } {
  const wrong = wrongMembers(result);
  if (wrong.length === 0) return { usage: result, wrong };
  const { consumption, costMicroUsd } = estimate;
  const usage = { ...result, consumption, costMicroUsd, estimated: true };
  if (wrongMembers(usage).length === 0) return { usage, wrong };
  return { usage: { ...estimate, outcome: result.outcome, estimated: true }, wrong };
}

const wrongMembers = (result: UsageResult): string[] =>
  UsageResult.safeParse(result).error?.issues.map(({ path }) => path.join('.')) ?? [];
