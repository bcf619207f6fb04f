import type { Dialect } from '@gateway/contracts/gateway-error';
import type { Candidate } from '../candidate.ts';
import type { SlotPool } from '../choosing/slot-pool.ts';
import type { FailureKind } from '../failures/failure-rules.ts';
import type { OutputCheck } from '../first-output/check-first-output.ts';
import type { ChannelHealth } from '../health/channel-health.ts';
import type { ChannelClient } from './channel-client.ts';

/**
 * What sending a request again may cost: `paid` work is repeated only if the provider certainly did not begin; `charged` work
 * also after a failure, but not after a time limit, since its provider may be at work on it still; `free` work always.
 */
export type Work = 'free' | 'charged' | 'paid';

/** What is not known to have been done is not sent again where it is paid; and not after a time limit where it is charged. */
export const LOST: Readonly<Record<Work, Readonly<Record<'failed' | 'timeout', FailureKind>>>> = {
  free: { failed: 'failed', timeout: 'timeout' },
  charged: { failed: 'failed', timeout: 'late' },
  paid: { failed: 'outcome-unknown', timeout: 'outcome-unknown' },
};

/** What one exchange works with: its candidate's connections, the check of the first output, and its bounds. */
export interface ExchangeOptions {
  readonly candidate: Candidate;
  readonly client: ChannelClient;
  /** Released when the exchange is over. */
  readonly slot: Pick<SlotPool, 'release'>;
  readonly health: Pick<ChannelHealth, 'report'>;
  readonly dialect: Dialect;
  readonly work: Work;
  readonly streamed: boolean;
  /** Its request is about an object at the provider. */
  readonly namesObject: boolean;
  readonly translated: boolean;
  readonly checkOutput: OutputCheck;
  /** Start events of a stream wait for the first output; see `SendOptions`. */
  readonly holdsStart: boolean;
  /** No other candidate is left: start events need not be given up for a late first output. */
  readonly isLast: boolean;
  /** The time within which the first output must have come, whatever the channel allows. */
  readonly withinMs: number;
  readonly signal: AbortSignal | undefined;
  /** Fires when another candidate has answered the same request. */
  readonly overtaken: AbortSignal | undefined;
}
