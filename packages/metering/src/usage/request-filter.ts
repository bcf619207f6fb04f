import type { CallerNames } from '@gateway/contracts/usage/caller-names';
import { type AttemptFilter, hasAttempt } from '@gateway/contracts/usage/usage-detail';
import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { groupsOf, SUCCEEDED } from './sums.ts';
import { type GroupFilter, hasNames, isWanted } from './usage-rows.ts';

/** What single requests are found by, beside what usage is summed up by. */
export interface RequestFilter extends GroupFilter {
  /** A part of the record's id, or of its request's. */
  readonly idPart?: string | undefined;
  /** Only what callers gave exactly these names. */
  readonly names?: CallerNames | undefined;
  /** Only what took at least so long. */
  readonly minTotalMs?: number | undefined;
  readonly minFirstOutputMs?: number | undefined;
  /** Only requests with such an attempt, whichever channel answered. */
  readonly attempt?: AttemptFilter | undefined;
}

/** Whether a record is among those that a filter wants. */
export function isWantedRequest(record: UsageRecord, filter: RequestFilter): boolean {
  const { idPart, minTotalMs = 0, minFirstOutputMs, attempt } = filter;
  return (
    isWanted(groupsOf(record), filter) &&
    hasNames(record, filter.names) &&
    (idPart === undefined || record.id.includes(idPart) || (record.requestId?.includes(idPart) ?? false)) &&
    record.durationMs >= minTotalMs &&
    (minFirstOutputMs === undefined || (record.firstByteMs ?? -1) >= minFirstOutputMs) &&
    (attempt === undefined || isAttempted(record, attempt))
  );
}

/** A record that lists no attempts was answered by its first one, whatever became of the answer. */
function isAttempted({ detail, channel, outcome }: UsageRecord, attempt: AttemptFilter): boolean {
  if (detail?.attempts !== undefined) return hasAttempt(detail.attempts, attempt);
  if (channel === null || (attempt.channel ?? channel) !== channel) return false;
  const isAnswered = outcome === SUCCEEDED || detail?.upstreamMs !== undefined;
  return isAnswered && (attempt.outcome ?? SUCCEEDED) === SUCCEEDED;
}
