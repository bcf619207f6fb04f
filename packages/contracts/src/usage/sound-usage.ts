import { UsageResult } from './usage-record.ts';

/**
 * A request's outcome in numbers that the ledger can hold: counts and costs are whole numbers from 0 on. If one is not,
 * the estimate replaces the whole consumption, so that no reply of a provider prevents the record.
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
