import type { Candidate } from '@gateway/upstream/candidate';
import type { RecordedMessage } from '../protocols/messages/message-recorder.ts';
import type { Maker } from '../stored/maker.ts';
import type { TextRequest } from './text-request.ts';

export interface AnsweredTurn {
  readonly request: TextRequest;
  readonly candidate: Candidate;
}

/** One turn of a message thread that the gateway keeps. The call's request is the whole conversation, without a thread. */
export interface ThreadTurn {
  /** The turn as the caller sent it. */
  readonly sent: TextRequest;
  /** Who gave the reply that it continues, and so has its prompt in a cache; null: it continues none, or nobody knows. */
  readonly servedBy: Maker | null;
  /** Whether a candidate keeps the thread as well: it gets the turn as it was sent, all others the whole conversation. */
  isKeptBy(candidate: Candidate): boolean;
  /** Those of a turn's candidates that keep its thread first. */
  ordered(candidates: readonly Candidate[]): readonly Candidate[];
  /**
   * Keeps the conversation with its reply, to be awaited before the caller learns the reply's end; null for a reply that
   * cannot be gone on from. Never rejects: the caller has an answer, and the next turn gets the error that there is no thread.
   *
   * @param answered the request as the candidate got it: the turn, where it keeps the thread as well
   */
  keep(message: RecordedMessage | null, answered: AnsweredTurn): Promise<void>;
  /** The turn is over. One that was not kept may be repeated. Never rejects. */
  end(): Promise<void>;
}
