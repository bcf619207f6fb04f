import type { Candidate } from '@gateway/upstream/candidate';
import type { Attempt } from '@gateway/upstream/replies/reply';
import type { KnownUsage } from '../../metering/consumption.ts';
import type { Usage } from '../../wire/usage.ts';

/** What a reply consumed, as far as it is known. */
export interface Consumed {
  /** The upstream's numbers, or our estimate; null: neither is known yet. */
  readonly usage: Usage | null;
  readonly estimated: boolean;
  /** The id of a response that continues without its caller and is settled at its end. */
  readonly pendingId: string | null;
}

export const NOTHING_KNOWN: Consumed = { usage: null, estimated: false, pendingId: null };

/** What is known of a reply that has ended. */
export const consumedOf = ({ usage, estimated }: KnownUsage): Consumed => ({
  ...NOTHING_KNOWN,
  usage,
  estimated,
});

/** The outcome of one reply. */
export interface ReplyOutcome extends Consumed {
  /** Null: nothing was sent to the caller. */
  readonly firstByteMs: number | null;
  /** The error before anything was sent to the caller; undefined: there was no error. */
  readonly thrown: unknown;
}

/** The outcome of a call, for its usage record. */
export interface CallOutcome extends ReplyOutcome {
  /** The candidate that answered; null: none has begun to answer. */
  readonly candidate: Candidate | null;
  readonly attempts: readonly Attempt[];
  /** The number of attempts that were in flight when another one answered. Providers may bill their input. */
  readonly overtaken: number;
}

/** A call or a reply that failed before anything of it was known. */
export const failedWith = (thrown: unknown): ReplyOutcome => ({
  ...NOTHING_KNOWN,
  firstByteMs: null,
  thrown,
});

/** The error of a piece of work; undefined: it did not fail. */
export const failureOf = (work: Promise<void>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
