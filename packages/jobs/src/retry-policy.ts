import type { ErrorCode } from '@gateway/contracts/error-codes';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { JobSpec } from './catalog.ts';

/** After these the upstream certainly did not begin, so that even paid work may be tried again. */
const DID_NOT_BEGIN: ReadonlySet<ErrorCode> = new Set([
  'upstream_failed',
  'upstream_overloaded',
  'upstream_rate_limited',
  'upstream_unreachable',
  'no_available_channel',
]);

/** After these the work may have been done, which costs nothing where it is free. */
const MAY_HAVE_BEGUN: ReadonlySet<ErrorCode> = new Set(['upstream_timeout', 'outcome_unknown']);

const FIRST_DELAY_MS = 500;
/** A caller waits: one who must wait longer is better told so. */
const MAX_DELAY_MS = 5000;

/**
 * How long to wait before the next attempt, in milliseconds; undefined when there is none: a caller's mistake, an
 * upstream that wants to be left alone for long, or no attempts left.
 *
 * @param attempt the one that just failed, from 1
 */
export function retryDelayMs(
  error: GatewayError,
  attempt: number,
  { work, attempts }: Pick<JobSpec, 'work' | 'attempts'>,
): number | undefined {
  if (attempt >= attempts) return undefined;
  const repeatable =
    (DID_NOT_BEGIN.has(error.code) && error.retry) || (work === 'free' && MAY_HAVE_BEGUN.has(error.code));
  if (!repeatable) return undefined;
  const askedMs = (error.options.retryAfterSeconds ?? 0) * 1000;
  const delayMs = Math.max(askedMs, FIRST_DELAY_MS * 2 ** (attempt - 1));
  return delayMs > MAX_DELAY_MS ? undefined : delayMs;
}
