export type BudgetPeriod = 'day' | 'week' | 'month' | 'total';

interface Zone {
  readonly formatter: Intl.DateTimeFormat;
  /** The minute (since 1970) that was formatted last, and its date. */
  minute: number;
  date: string;
}

/** Formatters are slow to make and to use; there is one for each zone in the configuration. */
const zones = new Map<string, Zone>();
const MINUTE_MS = 60_000;

/** The calendar date of a moment in a time zone, as `YYYY-MM-DD`. All of a minute has the same: offsets are whole minutes. */
export function dateIn(timeZone: string, atMs: number): string {
  let zone = zones.get(timeZone);
  if (zone === undefined) {
    const formatter = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
    zone = { formatter, minute: Number.NaN, date: '' };
    zones.set(timeZone, zone);
  }
  const minute = Math.floor(atMs / MINUTE_MS);
  if (minute !== zone.minute) {
    zone.date = zone.formatter.format(atMs);
    zone.minute = minute;
  }
  return zone.date;
}

const DAY_MS = 86_400_000;

/**
 * Names the calendar period that a moment falls into: `2026-11-20`, `2026-W47` (ISO 8601, weeks begin on Monday),
 * `2026-11` or `total`. Periods change at midnight of the time zone, also on days that have 23 or 25 hours.
 */
export function periodOf(period: BudgetPeriod, timeZone: string, atMs: number): string {
  if (period === 'total') return 'total';
  const date = dateIn(timeZone, atMs);
  if (period === 'day') return date;
  if (period === 'month') return date.slice(0, 7);
  return isoWeek(date);
}

/** ISO 8601: a week belongs to the year of its Thursday. */
function isoWeek(date: string): string {
  const dayMs = Date.parse(`${date}T00:00:00Z`);
  const weekday = (new Date(dayMs).getUTCDay() + 6) % 7;
  const thursday = new Date(dayMs + (3 - weekday) * DAY_MS);
  const year = thursday.getUTCFullYear();
  const week = Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * DAY_MS)) + 1;
  return `${year}-W${String(week).padStart(2, '0')}`;
}

/** No zone is further from UTC. */
const MAX_OFFSET_MS = 16 * 3_600_000;

/** The first moment of a date such as `2026-11-20` in a time zone, in Unix milliseconds. */
export function dayStartMs(timeZone: string, date: string): number {
  const midnightMs = Date.parse(date);
  let [before, after] = [midnightMs - MAX_OFFSET_MS, midnightMs + MAX_OFFSET_MS];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (dateIn(timeZone, middle) < date) before = middle;
    else after = middle;
  }
  return after;
}

/** No period is longer, not even with a change of clocks. */
const MAX_PERIOD_MS = 32 * DAY_MS;

/** The first moment that no longer belongs to the period of `atMs`, in Unix milliseconds; null for `total`. */
export function periodEndMs(period: BudgetPeriod, timeZone: string, atMs: number): number | null {
  if (period === 'total') return null;
  const current = periodOf(period, timeZone, atMs);
  let inside = Math.floor(atMs);
  let outside = inside + MAX_PERIOD_MS;
  while (outside - inside > 1) {
    const middle = Math.floor((inside + outside) / 2);
    if (periodOf(period, timeZone, middle) === current) inside = middle;
    else outside = middle;
  }
  return outside;
}
