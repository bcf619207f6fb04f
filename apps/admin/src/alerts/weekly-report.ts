import { dayStartMs } from '@gateway/metering/ledger/budget-period';
import type { UsageRow } from '@gateway/metering/usage/usage-rows';
import type { Usage } from '@gateway/records/open-records';
import type { WeeklyReport } from '@gateway/upstream/configuration/alerts';
import { WEEKDAYS } from '@gateway/upstream/configuration/alerts-entry';
import type { Report } from './message.ts';
import { wallTime } from './quiet-hours.ts';

const DAY_MS = 86_400_000;
const WEEK_DAYS = 7;
/** A report that could not be made for so long is left out: the next one is near. */
const LATE_DAYS = 3;

const dateAfter = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);

/** The date of the last report that was due by a moment. */
export function lastDueOn({ day, at }: WeeklyReport, timeZone: string, nowMs: number): string {
  const now = wallTime(timeZone, nowMs);
  const daysAgo = (WEEKDAYS.indexOf(now.day) - WEEKDAYS.indexOf(day) + WEEK_DAYS) % WEEK_DAYS;
  const isYetToCome = daysAgo === 0 && now.time < at;
  return dateAfter(now.date, -(isYetToCome ? WEEK_DAYS : daysAgo));
}

/** The date of the report that is to be sent now; null: none. */
export function dueReport(
  report: WeeklyReport,
  { reportedOn, timeZone, nowMs }: { reportedOn: string | null; timeZone: string; nowMs: number },
): string | null {
  const due = lastDueOn(report, timeZone, nowMs);
  const isTooLate = wallTime(timeZone, nowMs).date > dateAfter(due, LATE_DAYS);
  // A report of a time to come is one of a clock that was ahead: without it that clock would keep reports silent.
  const isKnown = reportedOn !== null && reportedOn >= due && reportedOn <= dateAfter(due, WEEK_DAYS);
  // The first one comes at its next time, and not for the time before alerts were configured.
  return reportedOn === null || isKnown || isTooLate ? null : due;
}

/** The spend of the seven days before a date by team, beside that of the seven days before them. @throws what usage throws */
export async function makeReport(
  usage: Pick<Usage, 'sums'>,
  { date, timeZone, id, nowMs }: { date: string; timeZone: string; id: string; nowMs: number },
): Promise<Report> {
  const startOf = (day: string): number => dayStartMs(timeZone, day);
  const from = dateAfter(date, -WEEK_DAYS);
  const sums = (first: string, end: string) =>
    usage.sums({ fromMs: startOf(first), toMs: startOf(end), groupBy: ['team'], only: {} });
  const [now, before] = await Promise.all([sums(from, date), sums(dateAfter(from, -WEEK_DAYS), from)]);
  const rowOf = (rows: readonly UsageRow[], team: string) =>
    rows.find(({ group }) => group.team === team)?.sums ?? {
      requests: 0,
      costMicroUsd: 0,
      unpricedRequests: 0,
    };
  const names = [...new Set([...now, ...before].map(({ group: { team = '' } }) => team))];
  const teams = names
    .map((name) => {
      const { requests, costMicroUsd, unpricedRequests } = rowOf(now, name);
      const previousCostMicroUsd = rowOf(before, name).costMicroUsd;
      return {
        team: name === '' ? null : name,
        requests,
        costMicroUsd,
        previousCostMicroUsd,
        unpricedRequests,
      };
    })
    .toSorted((a, b) => b.costMicroUsd - a.costMicroUsd || b.previousCostMicroUsd - a.previousCostMicroUsd);
  const total = (of: (row: (typeof teams)[number]) => number): number =>
    teams.reduce((sum, row) => sum + of(row), 0);
  return {
    ...{ type: 'report', id, atMs: nowMs, from, to: date },
    teams,
    total: {
      requests: total((row) => row.requests),
      costMicroUsd: total((row) => row.costMicroUsd),
      previousCostMicroUsd: total((row) => row.previousCostMicroUsd),
      unpricedRequests: total((row) => row.unpricedRequests),
    },
  };
}
