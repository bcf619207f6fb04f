import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';

const DEFAULT_WAIT_SECONDS = 2;
const MAX_WAIT_SECONDS = 60;

/** What lets a line in later. */
const WAITED_OUT: ReadonlySet<ErrorCode> = new Set([
  'rate_limited',
  'rate_limited_tokens',
  'queue_full',
  'service_unavailable',
]);

export const isWaitedOut = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && error.retry && WAITED_OUT.has(error.code);

/** Tries again for as long as a limit, a full queue or Redis being away is all that is in the way, and there is time left. */
export async function patiently<Result>(
  signal: AbortSignal,
  processor: () => Promise<Result>,
  leftMs: () => number = () => Number.POSITIVE_INFINITY,
): Promise<Result> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await processor();
    } catch (error) {
      if (!isWaitedOut(error)) throw error;
      const left = leftMs();
      if (left <= 0) throw error;
      const seconds = Math.min(MAX_WAIT_SECONDS, error.options.retryAfterSeconds ?? DEFAULT_WAIT_SECONDS);
      await delay(Math.min(left, seconds * 1000), undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}
