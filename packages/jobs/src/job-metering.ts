import type { ErrorCode } from '@gateway/contracts/error-codes';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import {
  NOTHING_CONSUMED,
  type UsageOutcome,
  UsageResult,
  UsageSubject,
} from '@gateway/contracts/usage-record';
import { z } from 'zod';

/** What was reserved for a job when it was made. The subject's id is the job's. */
export const JobMetering = z.strictObject({ subject: UsageSubject, estimate: UsageResult });
export type JobMetering = z.infer<typeof JobMetering>;

/** What a running job knows of its own consumption. */
export type JobConsumption = Omit<UsageResult, 'outcome' | 'durationMs' | 'firstByteMs'>;

/** Puts down how a metered job went. Only the first time counts, whichever process it is; it never rejects. */
export type SettleJob = (subject: UsageSubject, result: UsageResult) => Promise<void>;

export interface JobEnding {
  readonly metering: JobMetering;
  /** Whether its work was ever begun. */
  readonly hasRun: boolean;
  /** The last that it told of its consumption. */
  readonly consumed: JobConsumption | undefined;
  /** Why it did not succeed. */
  readonly error: GatewayError | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** After these a provider may have done the work, and bill it, although nobody has seen the result. */
const MAY_BE_BILLED: ReadonlySet<ErrorCode> = new Set([
  'outcome_unknown',
  'upstream_timeout',
  'job_cancelled',
]);

/** How a job is accounted that ends like this: by what it told, else as estimated where the provider may bill it. */
export function settlementOf({ metering, hasRun, consumed, error, nowMs }: JobEnding): UsageResult {
  const { subject, estimate } = metering;
  const isBilled = hasRun && error !== undefined && MAY_BE_BILLED.has(error.code);
  const { channel, attempts, consumption, estimated, costMicroUsd } =
    consumed ?? (isBilled ? { ...estimate, estimated: true } : nothingOf(estimate));
  return {
    outcome: outcomeOf(error),
    channel,
    attempts,
    durationMs: Math.max(0, nowMs - subject.startedAtMs),
    firstByteMs: null,
    consumption,
    estimated,
    costMicroUsd,
  };
}

const outcomeOf = (error: GatewayError | undefined): UsageOutcome => {
  if (error === undefined) return 'ok';
  return error.code === 'job_cancelled' ? 'cancelled' : 'failed';
};

const nothingOf = ({ costMicroUsd }: UsageResult): JobConsumption => ({
  channel: null,
  attempts: 0,
  consumption: NOTHING_CONSUMED,
  estimated: false,
  costMicroUsd: costMicroUsd === null ? null : 0,
});
