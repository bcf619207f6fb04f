import type { Balance } from '../../api/types.ts';
import { usd } from '../../parts/numbers.ts';
import { timeFormat } from '../../parts/time-zone.ts';

const DAYS = 7;
const DAY_MS = 86_400_000;
/** Ends that are further away say nothing. */
const MAX_DAYS = 3650;

const date = timeFormat({ day: 'numeric', month: 'short', year: 'numeric' });

/** When a budget ends if as much is spent as in the last seven days. */
export function forecastOf(
  { remainingUsd, resetsAt }: NonNullable<Balance['budget']>,
  spentUsd: number,
  nowMs: number,
): string {
  const resets = resetsAt === null ? '' : ` It starts again on ${date(new Date(resetsAt))}.`;
  if (remainingUsd <= 0) return `The budget is spent.${resets}`;
  const perDay = spentUsd / DAYS;
  if (perDay <= 0) return 'Nothing was spent in the last 7 days.';
  const days = remainingUsd / perDay;
  const endsMs = nowMs + days * DAY_MS;
  const rate = `At ${usd(perDay)} a day, the average of the last 7 days,`;
  if (resetsAt !== null && endsMs >= Date.parse(resetsAt))
    return `${rate} the budget lasts until it starts again on ${date(new Date(resetsAt))}.`;
  if (days > MAX_DAYS) return `${rate} the budget lasts for more than ten years.`;
  return `${rate} the budget ends on ${date(endsMs)}.${resets}`;
}
