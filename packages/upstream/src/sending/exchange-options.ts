import type { Dialect } from '@gateway/contracts/gateway-error';
import type { Candidate } from '../candidate.ts';
import type { SlotPool } from '../choosing/slot-pool.ts';
import type { Failure } from '../failures/failure.ts';
import type { OutputCheck } from '../first-output/check-first-output.ts';
import type { ChannelClient } from './channel-client.ts';

/** The most bytes read of an error's body, or of an output that cannot be checked yet. */
export const MAX_CHECKED_BYTES = 65_536;
/** The most bytes of start events that are held back: a response repeats the instructions and tools of its request. */
export const MAX_HELD_BYTES = 1_048_576;
/** The most bytes of a reply that is checked whole. */
export const MAX_WHOLE_BYTES = 64 * 1_048_576;
/** How long a provider may take to end a reply whose answer is whole, so that its connection can be used again. */
export const READ_OFF_MS = 1000;

/**
 * What a request means to whoever pays: `paid` work is repeated only if the provider certainly did not begin; `charged` work
 * also after a failure, but not after a time limit, since its provider may be at work on it still; `free` work always.
 */
export type Work = 'free' | 'charged' | 'paid';

/** What is known of an exchange that is over. */
interface EndedExchange {
  /** By `performance.now()`. */
  readonly startedAt: number;
}

/** What an exchange works with: the channel's connections, the check of the first output, and what is called at the end. */
export interface ExchangeOptions {
  readonly candidate: Candidate;
  readonly client: ChannelClient;
  readonly slot: Pick<SlotPool, 'release'>;
  readonly dialect: Dialect;
  readonly work: Work;
  readonly streamed: boolean;
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
  /** Called when a reply whose first output was accepted has ended; null: completely. */
  readonly onEnd: (exchange: EndedExchange, failure: Failure | null) => void;
  /** Called when a reply that had ended completely turned out to be no answer. */
  readonly onUnreadable: (exchange: EndedExchange, failure: Failure) => void;
}
