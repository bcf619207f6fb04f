import type { ErrorCode } from '../error-codes.ts';
import { type ConsumedUsage, NOTHING_CONSUMED, type UsageResult } from './usage-record.ts';

/** After these errors a provider may have done the work, and bill it, although no result arrived. */
const MAY_BE_BILLED: ReadonlySet<ErrorCode> = new Set([
  'outcome_unknown',
  'upstream_timeout',
  'client_closed_request',
  'job_cancelled',
  'shutting_down',
  // By a check beside the request.
  'guardrail_blocked',
  'guardrail_unavailable',
]);

/** Whether a provider that got the request may have done the work despite this error. */
export const mayBeBilled = (code: ErrorCode): boolean => MAY_BE_BILLED.has(code);

/**
 * The charge for work without a reply: nothing if the provider certainly did not begin, else the estimate.
 *
 * @param hasBegun whether a provider may have got the request at all
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

/** The same for a request with these attempts, if none has begun to answer. */
export function usageOfFailure(
  estimate: UsageResult,
  code: ErrorCode,
  attempts: readonly { readonly channel: string; readonly outcome: string }[],
): ConsumedUsage {
  const sent = attempts.filter(({ outcome }) => outcome !== 'busy');
  return {
    ...usageWithoutReply(estimate, code, sent.length > 0),
    channel: sent.at(-1)?.channel ?? null,
    attempts: sent.length,
  };
}
