import type { Redis } from 'ioredis';
import type { ReportBroken } from '../broken-records.ts';
import { hourOf, redisNames } from '../redis-names.ts';
import { Histogram, type Latency, parseBucket } from './latency.ts';
import { GROUPS, type Group, type Groups, type Measure, parseField, parseSumField } from './sums.ts';

/** What rows can be grouped by: a sum's groups, and its hour or day (UTC). */
export const GROUP_BY = ['hour', 'day', ...GROUPS] as const;
export type GroupBy = (typeof GROUP_BY)[number];

export interface UsageQuery {
  /** Unix milliseconds, rounded down to the hour. */
  readonly fromMs: number;
  /** Unix milliseconds, exclusive, rounded up to the hour. */
  readonly toMs: number;
  readonly groupBy: readonly GroupBy[];
  /** Only what has exactly these values. */
  readonly only: Partial<Record<Group, string | undefined>>;
  /** Whose usage counts, beside `only`; `team` is empty where there is none. Absent: everybody's. */
  readonly whose?: (groups: Pick<Groups, 'keyId' | 'team'>) => boolean;
  readonly onBroken?: ReportBroken;
}

/** A row's groups and its sums. */
export interface UsageRow {
  readonly group: Partial<Record<GroupBy, string>>;
  readonly sums: Record<Measure, number>;
  /** Of requests that ended well. */
  readonly latencies: Readonly<Record<Latency, Histogram>>;
}

const HOUR_MS = 3_600_000;
/** Hours that one round trip reads. */
const HOURS_AT_ONCE = 200;

const NO_SUMS: Record<Measure, number> = {
  requests: 0,
  failed: 0,
  refused: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  images: 0,
  characters: 0,
  audioMs: 0,
  costMicroUsd: 0,
  unpricedRequests: 0,
};

/** Adds up the hours' sums into rows, in the order of their groups. A sum that cannot be read is reported and left out. */
export async function queryUsage(redis: Redis, query: UsageQuery): Promise<readonly UsageRow[]> {
  const rows = new Map<string, UsageRow>();
  const lastHour = Math.ceil(query.toMs / HOUR_MS);
  for (let hour = Math.floor(query.fromMs / HOUR_MS); hour < lastHour; hour += HOURS_AT_ONCE) {
    const count = Math.min(HOURS_AT_ONCE, lastHour - hour);
    const names = Array.from({ length: count }, (_, offset) => hourOf((hour + offset) * HOUR_MS));
    const hours = await Promise.all(
      names.map(async (name) => ({
        name,
        sums: await redis.hgetall(redisNames.sums(name)),
        latencies: await redis.hgetall(redisNames.latencies(name)),
      })),
    );
    for (const { name, sums, latencies } of hours) {
      addHour(rows, query, name, sums);
      addLatencies(rows, query, name, latencies);
    }
  }
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

function addHour(
  rows: Map<string, UsageRow>,
  query: UsageQuery,
  hour: string,
  sums: Readonly<Record<string, string>>,
): void {
  for (const [field, value] of Object.entries(sums)) {
    const parsed = parseSumField(field);
    const amount = Number(value);
    if (parsed === undefined || !Number.isSafeInteger(amount)) {
      query.onBroken?.({ kind: 'usage_sum', id: `${redisNames.sums(hour)} ${field}` });
      continue;
    }
    if (fits(parsed.groups, query)) rowOf(rows, query, hour, parsed.groups).sums[parsed.measure] += amount;
  }
}

function addLatencies(
  rows: Map<string, UsageRow>,
  query: UsageQuery,
  hour: string,
  counts: Readonly<Record<string, string>>,
): void {
  for (const [field, value] of Object.entries(counts)) {
    const parsed = parseField(field);
    const measured = parsed && parseBucket(parsed.rest);
    const count = Number(value);
    if (parsed === undefined || measured === undefined || !Number.isSafeInteger(count)) {
      query.onBroken?.({ kind: 'usage_sum', id: `${redisNames.latencies(hour)} ${field}` });
      continue;
    }
    if (!fits(parsed.groups, query)) continue;
    const { latencies } = rowOf(rows, query, hour, parsed.groups);
    latencies[measured.latency].add(measured.bucket, count);
  }
}

function rowOf(rows: Map<string, UsageRow>, { groupBy }: UsageQuery, hour: string, groups: Groups): UsageRow {
  const values = { ...groups, hour, day: hour.slice(0, 10) };
  const key = JSON.stringify(groupBy.map((name) => values[name]));
  const known = rows.get(key);
  if (known !== undefined) return known;
  const row = {
    group: Object.fromEntries(groupBy.map((name) => [name, values[name]])),
    sums: { ...NO_SUMS },
    latencies: { firstOutputMs: new Histogram(), totalMs: new Histogram() },
  };
  rows.set(key, row);
  return row;
}

const fits = (groups: Groups, { only, whose }: UsageQuery): boolean =>
  GROUPS.every((name) => only[name] === undefined || only[name] === groups[name]) &&
  (whose === undefined || whose(groups));
