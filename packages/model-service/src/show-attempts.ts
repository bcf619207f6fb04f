import type { ServerResponse } from 'node:http';
import { ATTEMPTS_HEADER } from '@gateway/contracts/usage/usage-detail';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import { attemptsHeader } from '@gateway/upstream/replies/attempts-header';
import type { Attempt } from '@gateway/upstream/replies/reply';

/** Names every attempt for a request to its caller and, where there were several, in the log. */
export function showAttempts(
  attempts: readonly Attempt[],
  { line }: Pick<RequestContext, 'line'>,
  response: ServerResponse,
): void {
  const shown = attemptsHeader(attempts);
  if (shown === null) return;
  if (!response.headersSent) response.setHeader(ATTEMPTS_HEADER, shown);
  line.attempts = attempts.length;
  if (attempts.length > 1) line.attemptList = shown;
}
