import { CALLER_NAMES, type CallerNames } from '@gateway/contracts/usage/caller-names';
import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { dateIn } from '../ledger/budget-period.ts';
import { hourOf } from '../redis-names.ts';
import { Histogram, type Latency, latencyBuckets, parseBucket } from './latency.ts';
import { REFUSED } from './refusals.ts';
import {
  GROUPS,
  type Group,
  type Groups,
  groupsOf,
  type Measure,
  NO_SUMS,
  SUCCEEDED,
  sumsOf,
} from './sums.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** The times that rows can be grouped by (UTC), in milliseconds. Days are of any time zone, and put together from hours. */
export const UNIT_MS = {
  minute: MINUTE_MS,
  fiveMinutes: 5 * MINUTE_MS,
  hour: HOUR_MS,
  day: HOUR_MS,
} as const;
export type TimeUnit = keyof typeof UNIT_MS;

/** What rows can be grouped by: times, and a sum's groups. */
export const GROUP_BY = [...(['minute', 'fiveMinutes', 'hour', 'day'] as const), ...GROUPS] as const;
export type GroupBy = (typeof GROUP_BY)[number];

export const isTimeUnit = (by: GroupBy): by is TimeUnit => by in UNIT_MS;

/** What usage is looked at. */
export interface GroupFilter {
  /** Only what has exactly these values. */
  readonly only: Partial<Record<Group, string | undefined>>;
  /** Only requests that did not end well. */
  readonly isFailed?: boolean | undefined;
  /** Whose usage counts, beside `only`; `team` is empty where there is none. Absent: everybody's. */
  readonly whose?: ((groups: Pick<Groups, 'keyId' | 'team'>) => boolean) | undefined;
}

export interface UsageQuery extends GroupFilter {
  /** Only what callers gave exactly these names. */
  readonly names?: CallerNames | undefined;
  /** Times are not rounded to the hour. Then, as by minutes and by callers' names, refusals are not counted: they have no records. */
  readonly isExact?: boolean | undefined;
  /** Unix milliseconds, rounded down to the hour. */
  readonly fromMs: number;
  /** Unix milliseconds, exclusive, rounded up to the hour. */
  readonly toMs: number;
  readonly groupBy: readonly GroupBy[];
  /** Of days; UTC if left out. An hour belongs to the day in which it begins: sums are kept by whole hours (UTC). */
  readonly timeZone?: string | undefined;
}

/** A row's groups and its sums. */
export interface UsageRow {
  readonly group: Partial<Record<GroupBy, string>>;
  readonly sums: Record<Measure, number>;
  /** Of requests that ended well. */
  readonly latencies: Readonly<Record<Latency, Histogram>>;
}

const DAY_LENGTH = 'YYYY-MM-DD'.length;
const MINUTE_LENGTH = 'YYYY-MM-DDTHH:MM'.length;
const UTC = 'UTC';

/** The hours of a query: from the first to before the last, as numbers since 1970. */
export const hoursOf = ({ fromMs, toMs }: Pick<UsageQuery, 'fromMs' | 'toMs'>): readonly [number, number] => [
  Math.floor(fromMs / HOUR_MS),
  Math.ceil(toMs / HOUR_MS),
];

/** Whether sums by the hour cannot answer a query, but records. */
export const isOfRecords = ({ groupBy, names = {}, isExact = false }: UsageQuery): boolean =>
  isExact ||
  groupBy.includes('minute') ||
  groupBy.includes('fiveMinutes') ||
  Object.values(names).some((name) => name !== undefined);

/** Whether its caller gave a request exactly these names. */
export const hasNames = (record: CallerNames, names: CallerNames = {}): boolean =>
  CALLER_NAMES.every((name) => names[name] === undefined || names[name] === record[name]);

/** `2026-11-20T11`, of its number since 1970. */
export const hourName = (hour: number): string => hourOf(hour * HOUR_MS);
export const hourNumber = (atMs: number): number => Math.floor(atMs / HOUR_MS);

/** The day of an hour, such as `2026-11-20`, in a query's time zone. */
export function daysIn({ timeZone = UTC }: Pick<UsageQuery, 'timeZone'>): (hour: number) => string {
  if (timeZone === UTC) return (hour) => hourName(hour).slice(0, DAY_LENGTH);
  const known = new Map<number, string>();
  return (hour) => {
    const day = known.get(hour) ?? dateIn(timeZone, hour * HOUR_MS);
    known.set(hour, day);
    return day;
  };
}

/** The outcomes that do not count as failed: refusals are counted apart. */
export const NOT_FAILED = [SUCCEEDED, REFUSED] as const;

/** Whether these groups are among those that a query wants. */
export const isWanted = (groups: Groups, { only, whose, isFailed = false }: GroupFilter): boolean =>
  GROUPS.every((name) => only[name] === undefined || only[name] === groups[name]) &&
  (!isFailed || !NOT_FAILED.some((outcome) => outcome === groups.outcome)) &&
  (whose === undefined || whose(groups));

/** Counts so many requests in a bucket, such as `f13`. False for text that is no bucket. */
export function addLatency(
  { latencies }: Pick<UsageRow, 'latencies'>,
  bucket: string,
  count: number,
): boolean {
  const parsed = parseBucket(bucket);
  if (parsed !== undefined) latencies[parsed.latency].add(parsed.bucket, count);
  return parsed !== undefined;
}

/** Rows that are added up from records and sums of any source. */
export interface UsageRows {
  /** The row that refusals of these groups in this hour count in; undefined where the query does not want them. */
  rowOf(hour: number, groups: Groups): UsageRow | undefined;
  /** The row of these values of what is grouped by, in its order: of usage that the query wants. */
  rowWith(values: readonly string[]): UsageRow;
  /** How a minute, an hour or a day that begins at a moment is named: `2026-11-20T11:05`, `2026-11-20T11`, `2026-11-20`. */
  nameOf(unit: TimeUnit, atMs: number): string;
  /** Counts a request by the moment at which it ended. */
  addRecord(endedAtMs: number, record: UsageRecord): void;
  /** In the order of their groups. */
  rows(): readonly UsageRow[];
}

export function createUsageRows(query: UsageQuery): UsageRows {
  const { groupBy } = query;
  const rows = new Map<string, UsageRow>();
  const [firstHour, endHour] = hoursOf(query);
  const dayOf = daysIn(query);
  const isByRecord = isOfRecords(query);
  const isIn = (hour: number): boolean => hour >= firstHour && hour < endHour;

  const rowWith = (values: readonly string[]): UsageRow => {
    const key = JSON.stringify(values);
    const known = rows.get(key);
    if (known !== undefined) return known;
    const row = {
      group: Object.fromEntries(groupBy.map((by, at) => [by, values[at]])),
      sums: { ...NO_SUMS },
      latencies: { firstOutputMs: new Histogram(), totalMs: new Histogram() },
    };
    rows.set(key, row);
    return row;
  };
  const nameOf = (unit: TimeUnit, atMs: number): string => {
    if (unit === 'day') return dayOf(hourNumber(atMs));
    const begin = Math.floor(atMs / UNIT_MS[unit]) * UNIT_MS[unit];
    return unit === 'hour' ? hourOf(begin) : new Date(begin).toISOString().slice(0, MINUTE_LENGTH);
  };
  const rowAt = (atMs: number, groups: Groups): UsageRow | undefined => {
    const isWithin = isByRecord ? atMs >= query.fromMs && atMs < query.toMs : isIn(hourNumber(atMs));
    if (!isWithin || !isWanted(groups, query)) return undefined;
    return rowWith(groupBy.map((by) => (isTimeUnit(by) ? nameOf(by, atMs) : groups[by])));
  };

  return {
    rowOf: (hour, groups) => (isByRecord ? undefined : rowAt(hour * HOUR_MS, groups)),
    rowWith,
    nameOf,
    addRecord: (endedAtMs, record) => {
      if (!hasNames(record, query.names)) return;
      const row = rowAt(endedAtMs, groupsOf(record));
      if (row === undefined) return;
      for (const [measure, amount] of sumsOf(record)) row.sums[measure] += amount;
      for (const bucket of latencyBuckets(record)) addLatency(row, bucket, 1);
    },
    rows: () =>
      [...rows]
        // Of some days all hours may have been counted on another one.
        .filter(([, { sums }]) => sums.requests > 0 || sums.refused > 0)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([, row]) => row),
  };
}
