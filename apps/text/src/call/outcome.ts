import type { Candidate } from '@gateway/upstream/candidate';
import type { Attempt } from '@gateway/upstream/replies/reply';
import type { Usage } from '../wire/usage.ts';

/** What a reply consumed, as far as it is known. */
export interface Consumed {
  /** The upstream's own numbers, or our estimate of them; null while there are neither. */
  readonly usage: Usage | null;
  readonly estimated: boolean;
  /** The id of a response that goes on without its caller, and is settled when it ends. */
  readonly pendingId: string | null;
}

export const NOTHING_KNOWN: Consumed = { usage: null, estimated: false, pendingId: null };

export const reportedUsage = (usage: Usage): Consumed => ({ ...NOTHING_KNOWN, usage });

/** Where the upstream did not report its usage, or not to the end. */
export const guessedUsage = (usage: Usage): Consumed => ({ ...NOTHING_KNOWN, usage, estimated: true });

/** What one reply came to. */
export interface ReplyOutcome extends Consumed {
  /** Null where nothing has been sent to the caller. */
  readonly firstByteMs: number | null;
  /** What failed before anything was sent to the caller; undefined where nothing did. */
  readonly thrown: unknown;
}

/** What a call came to, for its record. */
export interface CallOutcome extends ReplyOutcome {
  /** Where the answer came from; null where none has begun to answer. */
  readonly candidate: Candidate | null;
  readonly attempts: readonly Attempt[];
  /** Attempts whose input a provider may bill beside the one that counts: they were at work when another one answered. */
  readonly overtaken: number;
}

/** A call or a reply that failed before anything of it was known. */
export const failedWith = (thrown: unknown): ReplyOutcome => ({
  ...NOTHING_KNOWN,
  firstByteMs: null,
  thrown,
});

/** What a piece of work failed with; undefined where it did not fail. */
export const failureOf = (work: Promise<void>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
