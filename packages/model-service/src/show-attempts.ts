import { ATTEMPT_DETAIL_HEADER, ATTEMPTS_HEADER } from '@gateway/contracts/usage/usage-detail';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import { attemptsHeader } from '@gateway/upstream/replies/attempts-header';
import type { Attempt } from '@gateway/upstream/replies/reply';
import type { Caller } from './caller.ts';

/** Names every attempt for a request to its caller and, where there were several, in the log. */
export function showAttempts(
  attempts: readonly Attempt[],
  { line, identity }: Pick<RequestContext, 'line' | 'identity'>,
  caller: Pick<Caller, 'note'>,
): void {
  const shown = attemptsHeader(attempts);
  if (shown === null) return;
  caller.note(ATTEMPTS_HEADER, shown);
  const detail = attempts.at(-1)?.detail ?? null;
  const isOperators = identity?.channel !== undefined || identity?.draft !== undefined;
  if (isOperators && detail !== null) caller.note(ATTEMPT_DETAIL_HEADER, encodeURIComponent(detail));
  line.attempts = attempts.length;
  if (attempts.length > 1) line.attemptList = shown;
}
