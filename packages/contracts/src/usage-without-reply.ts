import type { ErrorCode } from './error-codes.ts';
import { NOTHING_CONSUMED, type UsageResult } from './usage-record.ts';

/** What was consumed, apart from how and how fast the request ended. */
export type ConsumedUsage = Omit<UsageResult, 'outcome' | 'durationMs' | 'firstByteMs'>;

/** After these a provider may have done the work, and bill it, although nobody has seen the result. */
const MAY_BE_BILLED: ReadonlySet<ErrorCode> = new Set([
  'outcome_unknown',
  'upstream_timeout',
  'client_closed_request',
  'job_cancelled',
  'shutting_down',
]);

/** Whether a provider that was asked may have done the work although it ended like this. */
export const mayBeBilled = (code: ErrorCode): boolean => MAY_BE_BILLED.has(code);

/**
 * What is charged for work of which no reply was seen: nothing where the provider certainly did not begin, else what was
 * estimated.
 *
 * @param hasBegun whether a provider may have been asked at all
 */
export function usageWithoutReply(
  estimate: UsageResult,
  code: ErrorCode | undefined,
  hasBegun: boolean,
): ConsumedUsage {
  const { channel, attempts, consumption, costMicroUsd } = estimate;
  if (hasBegun && code !== undefined && mayBeBilled(code))
    return { channel, attempts, consumption, estimated: true, costMicroUsd };
  return {
    channel: null,
    attempts: 0,
    consumption: NOTHING_CONSUMED,
    estimated: false,
    costMicroUsd: costMicroUsd === null ? null : 0,
  };
}

/** The same for a request that asked these channels, none of which has begun to answer. */
export function usageOfFailure(
  estimate: UsageResult,
  code: ErrorCode,
  attempts: readonly { readonly channel: string; readonly outcome: string }[],
): ConsumedUsage {
  const asked = attempts.filter(({ outcome }) => outcome !== 'busy');
  return {
    ...usageWithoutReply(estimate, code, asked.length > 0),
    channel: asked.at(-1)?.channel ?? null,
    attempts: asked.length,
  };
}
