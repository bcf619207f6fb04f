import type { Candidate } from '@gateway/upstream/catalog';
import type { RecordedMessage } from '../protocols/messages/message-recorder.ts';
import type { TextRequest } from './text-request.ts';

/** One turn of a message thread that the gateway keeps. The call's request is the whole conversation, without a thread. */
export interface ThreadTurn {
  /** The turn as the caller sent it. */
  readonly sent: TextRequest;
  /** Whether a candidate keeps the thread as well: it gets the turn as it was sent, all others the whole conversation. */
  isKeptBy(candidate: Candidate): boolean;
  /** Those of a turn's candidates that keep its thread first. */
  ordered(candidates: readonly Candidate[]): readonly Candidate[];
  /**
   * Keeps the conversation with its reply, to be awaited before the caller learns the reply's end; null for a reply that
   * cannot be gone on from. Never rejects: the caller has an answer, and the next turn is told that there is no thread.
   *
   * @param keeper the candidate that answered, if it keeps the thread as well
   */
  keep(message: RecordedMessage | null, keeper: Candidate | null): Promise<void>;
  /** The turn is over. One that was not kept may be repeated. Never rejects. */
  end(): Promise<void>;
}

/** The candidate that answers a call, if it was sent the turn and keeps the thread. */
export const keeperOf = (
  { thread, request }: { readonly thread: ThreadTurn | null; readonly request: TextRequest },
  candidate: Candidate,
): Candidate | null => (thread?.sent === request ? candidate : null);
