import { finishMeaning } from '@gateway/contracts/finish-words';
import { type Finish, fittingReason } from '../../../neutral/reply/reply.ts';
import type { CleanText } from '../../../wire/public-message.ts';
import { upstreamGaveUp } from '../../../wire/read-upstream.ts';

/** How an answer ended, in Gemini's words. */
export interface Ending {
  readonly word: string | number;
  readonly message?: string | undefined;
}

interface Seen {
  readonly calls: boolean;
  /** Anything that a caller can be shown. */
  readonly output: boolean;
}

/**
 * There is no word for calls: an answer with calls ends with `STOP` too.
 * @throws {GatewayError} for a word by which the model gave up, and for one that nobody knows where nothing has come
 */
export function decodeFinish({ word, message }: Ending, seen: Seen, clean: CleanText): Finish {
  const meaning = finishMeaning(word);
  if (meaning === 'failed' || (meaning === undefined && !seen.output)) throw upstreamGaveUp(word);
  const reason = fittingReason(meaning ?? 'stop', seen);
  if (meaning === undefined) return { reason, unknown: String(word) };
  return reason === 'refusal' && message ? { reason, explanation: clean(message) } : { reason };
}

/** A prompt that Gemini does not answer. */
export const blockedPrompt = (
  blockReason: string,
  message: string | undefined,
  clean: CleanText,
): Finish => ({
  reason: 'refusal',
  explanation: message ? clean(message) : `The provider blocked the prompt (${clean(blockReason)}).`,
});
