import type { GatewayError } from '@gateway/contracts/gateway-error';
import { failureDetail } from '@gateway/contracts/usage/usage-detail';
import { type UsageOutcome, UsageResult, UsageSubject } from '@gateway/contracts/usage/usage-record';
import { type ConsumedUsage, usageWithoutReply } from '@gateway/contracts/usage/usage-without-reply';
import { z } from 'zod';

/** What was reserved for a job when it was made. The subject's id is the job's. */
export const JobMetering = z.strictObject({ subject: UsageSubject, estimate: UsageResult });
export type JobMetering = z.infer<typeof JobMetering>;

/** Records how a metered job went. Only the first call for a job counts, in any process. Never rejects. */
export type SettleJob = (subject: UsageSubject, result: UsageResult) => Promise<void>;

export interface JobEnding {
  readonly metering: JobMetering;
  /** Whether its work was ever begun. */
  readonly hasRun: boolean;
  /** The last consumption that it reported; null: it has consumed nothing. */
  readonly consumed: ConsumedUsage | null | undefined;
  /** Why it did not succeed. */
  readonly error: GatewayError | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** How long it was queued until it was begun for the last time; absent where that is not known. */
  readonly queuedMs?: number | undefined;
}

/** How a job with this end is accounted: by what it reported; else by an estimate, if the provider may bill it. */
export function settlementOf({ metering, hasRun, consumed, error, nowMs, queuedMs }: JobEnding): UsageResult {
  const { subject, estimate } = metering;
  const usage = consumed ?? usageWithoutReply(estimate, error?.code, hasRun && consumed !== null);
  return {
    ...usage,
    outcome: outcomeOf(error),
    durationMs: Math.max(0, nowMs - subject.startedAtMs),
    firstByteMs: null,
    detail: {
      ...usage.detail,
      ...(queuedMs !== undefined && { queuedMs }),
      // The errors of both dialects have the same statuses for jobs: their endpoints are OpenAI's.
      ...(error && failureDetail(error, 'openai')),
    },
  };
}

const outcomeOf = (error: GatewayError | undefined): UsageOutcome => {
  if (error === undefined) return 'ok';
  return error.code === 'job_cancelled' ? 'cancelled' : 'failed';
};
