import { ATTEMPTS_HEADER } from '@gateway/contracts/usage/usage-detail';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import { attemptsHeader } from '@gateway/upstream/replies/attempts-header';
import type { Attempt } from '@gateway/upstream/replies/reply';
import type { Caller } from './caller.ts';

/** Names every attempt for a request to its caller and, where there were several, in the log. */
export function showAttempts(
  attempts: readonly Attempt[],
  { line }: Pick<RequestContext, 'line'>,
  caller: Pick<Caller, 'note'>,
): void {
  const shown = attemptsHeader(attempts);
  if (shown === null) return;
  caller.note(ATTEMPTS_HEADER, shown);
  line.attempts = attempts.length;
  if (attempts.length > 1) line.attemptList = shown;
}
