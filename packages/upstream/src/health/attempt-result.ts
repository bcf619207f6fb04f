import type { Failure } from '../failures/failure.ts';
import type { AttemptResult } from './channel-health.ts';

/** What an attempt's failure, or its success (null), means for the health of its channel. */
export const resultOf = (
  startedAtMs: number,
  stage: AttemptResult['stage'],
  failure: Failure | null,
): AttemptResult => ({
  startedAtMs,
  stage,
  outcome: failure === null ? 'ok' : (failure.trouble ?? 'neutral'),
});
