import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { JobSpec } from '../catalog.ts';

/** Whether the work certainly did not begin, so that even paid work may be tried again. */
const hasNotBegun = (error: GatewayError, { retry }: Pick<JobSpec, 'retry'>): boolean =>
  retry.notBegun.has(error.code) && error.retry;

/** Whether a failed job may be queued again: the work cannot be paid twice, and the request was not wrong. */
export const mayBeRequeued = (error: GatewayError, spec: Pick<JobSpec, 'retry'>): boolean =>
  hasNotBegun(error, spec) || (spec.retry.mayHaveBegun.has(error.code) && error.options.retry !== false);

/**
 * How long to wait before the next attempt, in milliseconds; undefined when there is none: a caller's mistake, an
 * upstream that wants to be left alone for long, or no attempts left.
 *
 * @param attempt the one that just failed, from 1
 */
export function retryDelayMs(
  error: GatewayError,
  attempt: number,
  spec: Pick<JobSpec, 'retry' | 'attempts'>,
): number | undefined {
  if (attempt >= spec.attempts) return undefined;
  const { firstDelayMs, maxDelayMs } = spec.retry;
  if (!mayBeRequeued(error, spec)) return undefined;
  const requestedMs = (error.options.retryAfterSeconds ?? 0) * 1000;
  const delayMs = Math.max(requestedMs, firstDelayMs * 2 ** (attempt - 1));
  return delayMs > maxDelayMs ? undefined : delayMs;
}
