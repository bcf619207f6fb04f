import type { GatewayError } from '@gateway/contracts/gateway-error';
import { addConsumed } from '@gateway/contracts/usage/add-consumed';
import { failureDetail, type UsageDetail } from '@gateway/contracts/usage/usage-detail';
import {
  type ConsumedUsage,
  type UsageOutcome,
  UsageResult,
  UsageSubject,
} from '@gateway/contracts/usage/usage-record';
import { usageWithoutReply } from '@gateway/contracts/usage/usage-without-reply';
import { z } from 'zod';

/** What was reserved for a job when it was made. The subject's id is the job's. */
export const JobMetering = z.object({ subject: UsageSubject, estimate: UsageResult });
export type JobMetering = z.infer<typeof JobMetering>;

/** Records how a metered job went. Only the first call for a job counts, in any process. Never rejects. */
export type SettleJob = (subject: UsageSubject, result: UsageResult) => Promise<void>;

export interface JobEnding {
  readonly metering: JobMetering;
  /** Whether its work was ever begun. */
  readonly hasRun: boolean;
  /** The last consumption that it reported; null: it has consumed nothing. */
  readonly consumed: ConsumedUsage | null | undefined;
  /** What is known of it beside that. */
  readonly noted?: UsageDetail | undefined;
  /** What its earlier attempts have used. Absent: nothing. */
  readonly consumedBefore?: ConsumedUsage | undefined;
  /** Why it did not succeed. */
  readonly error: GatewayError | undefined;
  /** When the caller who waits was sent the first part of its answer; absent where that came whole, or not. */
  readonly heardAtMs?: number | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** How long it was queued until it was begun for the last time; absent where that is not known. */
  readonly queuedMs?: number | undefined;
  /** Of its trace, if there is one to be shown. */
  readonly traceId?: string | undefined;
}

/** How a job with this end is accounted: by what it reported; else by an estimate, if the provider may bill it. */
export function settlementOf(ending: JobEnding): UsageResult {
  const { metering, hasRun, consumed, noted, consumedBefore, error } = ending;
  const { heardAtMs, nowMs, queuedMs, traceId } = ending;
  const { subject, estimate } = metering;
  const last = consumed ?? usageWithoutReply(estimate, error?.code, hasRun && consumed !== null);
  const usage = consumedBefore === undefined ? last : withEarlier(last, consumedBefore);
  return {
    ...usage,
    outcome: outcomeOf(error, heardAtMs !== undefined),
    durationMs: Math.max(0, nowMs - subject.startedAtMs),
    firstByteMs: heardAtMs === undefined ? null : Math.max(0, heardAtMs - subject.startedAtMs),
    detail: {
      ...usage.detail,
      ...noted,
      ...(queuedMs !== undefined && { queuedMs }),
      ...(traceId !== undefined && { traceId }),
      // The errors of both dialects have the same statuses for jobs: their endpoints are OpenAI's.
      ...(error && failureDetail(error, 'openai')),
    },
  };
}

/** What a job has used after an attempt, with what its earlier ones had used. */
export const withEarlier = (last: ConsumedUsage, before: ConsumedUsage): ConsumedUsage => ({
  ...addConsumed(last, before),
  attempts: last.attempts + before.attempts,
});

/** A stream that a caller had begun to read was cut, or left, as one that no job makes. */
function outcomeOf(error: GatewayError | undefined, isHeard: boolean): UsageOutcome {
  if (error === undefined) return 'ok';
  if (error.code === 'job_cancelled') return isHeard ? 'left' : 'cancelled';
  return isHeard ? 'cut' : 'failed';
}
