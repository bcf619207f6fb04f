import type { GatewayError } from '@gateway/contracts/gateway-error';
import { type UsageOutcome, UsageResult, UsageSubject } from '@gateway/contracts/usage-record';
import { type ConsumedUsage, usageWithoutReply } from '@gateway/contracts/usage-without-reply';
import { z } from 'zod';

/** What was reserved for a job when it was made. The subject's id is the job's. */
export const JobMetering = z.strictObject({ subject: UsageSubject, estimate: UsageResult });
export type JobMetering = z.infer<typeof JobMetering>;

/** Puts down how a metered job went. Only the first time counts, whichever process it is; it never rejects. */
export type SettleJob = (subject: UsageSubject, result: UsageResult) => Promise<void>;

export interface JobEnding {
  readonly metering: JobMetering;
  /** Whether its work was ever begun. */
  readonly hasRun: boolean;
  /** The last consumption that it reported. */
  readonly consumed: ConsumedUsage | undefined;
  /** Why it did not succeed. */
  readonly error: GatewayError | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** How a job is accounted that ends like this: by what it reported, else by an estimate if the provider may bill it. */
export function settlementOf({ metering, hasRun, consumed, error, nowMs }: JobEnding): UsageResult {
  const { subject, estimate } = metering;
  return {
    ...(consumed ?? usageWithoutReply(estimate, error?.code, hasRun)),
    outcome: outcomeOf(error),
    durationMs: Math.max(0, nowMs - subject.startedAtMs),
    firstByteMs: null,
  };
}

const outcomeOf = (error: GatewayError | undefined): UsageOutcome => {
  if (error === undefined) return 'ok';
  return error.code === 'job_cancelled' ? 'cancelled' : 'failed';
};
