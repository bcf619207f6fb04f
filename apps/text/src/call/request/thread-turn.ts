import type { Candidate } from '@gateway/upstream/candidate';
import type { RecordedMessage, StoredMessage } from '../../protocols/messages/reply/message-recorder.ts';
import type { TextRequest } from './text-request.ts';

export interface AnsweredTurn {
  readonly request: TextRequest;
  readonly candidate: Candidate;
}

/** One turn of a message thread that the gateway keeps. The call's request is the whole conversation, without a thread. */
export interface ThreadTurn {
  /** The turn as the caller sent it. */
  readonly sent: TextRequest;
  /** Whether a candidate keeps the thread too. It gets the turn as it was sent; others get the whole conversation. */
  isStoredBy(candidate: Candidate): boolean;
  /** The turn's candidates, those that keep its thread first. */
  ordered(candidates: readonly Candidate[]): readonly Candidate[];
  /**
   * Stores the conversation with its reply; null: the reply cannot be continued. Await it before the caller gets the reply's
   * end. Never rejects: the caller has an answer. If it fails, the next turn gets the error that there is no thread.
   *
   * @param answered the request as the candidate got it: only the turn, if it keeps the thread too
   */
  store(message: RecordedMessage | StoredMessage | null, answered: AnsweredTurn): Promise<void>;
}
