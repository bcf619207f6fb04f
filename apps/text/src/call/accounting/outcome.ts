import type { EndAnswer } from '@gateway/model-service/stream/relay-stream';
import type { Candidate } from '@gateway/upstream/candidate';
import type { Route } from '@gateway/upstream/configuration/configuration';
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
  readonly end: EndAnswer;
}

/** What was used of a reply that was no answer. */
export interface DiscardedReply extends Consumed {
  readonly candidate: Candidate;
}

/** The routes of attempts that were in flight to their end and have said nothing of their cost. Providers may bill their input. */
export interface UnreadAttempts {
  /** The request's own, where no reply was read; null where there is one, or nothing was sent. */
  readonly own: Route | null;
  /** Beside it: those that another one has overtaken, or that the caller left. */
  readonly others: readonly Route[];
}

export const NONE_UNREAD: UnreadAttempts = { own: null, others: [] };

/** The outcome of a call, for its usage record. */
export interface CallOutcome extends ReplyOutcome {
  /** The candidate that answered; null: none has begun to answer. */
  readonly candidate: Candidate | null;
  readonly attempts: readonly Attempt[];
  readonly unread: UnreadAttempts;
  /** Replies before this one that turned out to be no answer, after another route was tried. Providers may bill them too. */
  readonly discarded: readonly DiscardedReply[];
}

/** A call or a reply that failed before anything of it was known. */
export const failedWith = (thrown: unknown): ReplyOutcome => ({
  ...NOTHING_KNOWN,
  firstByteMs: null,
  ...failed(thrown),
});

/** How the writing of a reply went: its end, or its error before anything was sent. */
export const writtenBy = (work: Promise<EndAnswer>): Promise<Pick<ReplyOutcome, 'thrown' | 'end'>> =>
  work.then((end) => ({ thrown: undefined, end }), failed);

const failed = (thrown: unknown) => ({ thrown, end: nothingWritten });

const nothingWritten: EndAnswer = () => undefined;
