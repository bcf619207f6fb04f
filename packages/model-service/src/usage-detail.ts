import { MAX_DETAIL_LENGTH, type UnitPrices, type UsageDetail } from '@gateway/contracts/usage/usage-detail';
import { attemptsHeader, saysMore } from '@gateway/upstream/replies/attempts-header';
import type { Attempt } from '@gateway/upstream/replies/reply';

interface Went {
  /** Every attempt for the request, in the order in which they ended. */
  readonly attempts: readonly Attempt[];
  /** As `x-gateway-dropped` names them; null or empty: nothing was. */
  readonly dropped?: string | null;
  readonly isStreamed?: boolean;
  /** It was sent by a draft of the configuration. */
  readonly isDraft?: boolean;
  /** Absent or null: nothing was charged, or the model has no price. */
  readonly unitPrices?: UnitPrices | null;
}

/** What a usage record says of how its request went. */
export function usageDetail({ attempts, dropped, isStreamed, isDraft, unitPrices }: Went): UsageDetail {
  const detail: UsageDetail = {};
  let waitedMs = 0;
  for (const attempt of attempts) waitedMs += attempt.waitedMs;
  const last = attempts.at(-1);
  const list = saysMore(attempts) ? attemptsHeader(attempts) : null;
  if (isStreamed) detail.isStreamed = true;
  if (isDraft) detail.isDraft = true;
  if (waitedMs >= 1) detail.waitedMs = Math.round(waitedMs);
  if (last?.outcome === 'ok') detail.upstreamMs = Math.round(last.durationMs);
  if (list !== null) detail.attempts = list.slice(0, MAX_DETAIL_LENGTH);
  if (dropped) detail.dropped = dropped.slice(0, MAX_DETAIL_LENGTH);
  if (unitPrices && Object.keys(unitPrices).length > 0) detail.unitPrices = unitPrices;
  return detail;
}
