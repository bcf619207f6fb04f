import type { EntryId } from '@gateway/metering/usage/outbox';
import type { RequestFilter } from '@gateway/metering/usage/request-filter';
import type { Group } from '@gateway/metering/usage/sums';
import { z } from 'zod';
import type { Queries, SqlValue } from '../database/database.ts';
import { groupCondition, namedBy, type Placing, placing, searchedBy } from './record-conditions.ts';
import { type PlacedRecord, RECORD_COLUMNS, recordOf, SELECTED } from './record-rows.ts';
import { type Grains, grainsFor, HOURS_IN } from './rollups.ts';
import { storable } from './usage-groups.ts';

interface PageQuery {
  readonly fromMs: number;
  readonly toMs: number;
  /** Those that ended before this one. */
  readonly before: EntryId | null;
  readonly limit: number;
  readonly wanted: RequestFilter;
  readonly groups: {
    /** Those whose records are wanted; null: all. */
    readonly ids: readonly number[] | null;
    /** What tells them apart. */
    readonly needed: ReadonlySet<Group>;
  };
}

interface FoundPage {
  readonly records: readonly PlacedRecord[];
  /** Where the search ended before a page was full; null: there are no more. */
  readonly next: EntryId | null;
}

/** Records that a search by what has no index looks at. */
const MAX_SEARCHED = 30_000;
/** Records with the same id of a request: a caller may choose it. */
const MAX_SAME_ID = 200;
const HOUR_MS = 3_600_000;
/** Between hours that one query reads: each query costs as much as some thousand records that are not wanted. */
const MAX_GAP_HOURS = 3;

const FROM = 'usage_records r join usage_groups g on g.id = r.group_id';
const NEWEST = 'order by r.ended_at desc, r.ended_seq desc';

const Places = z.array(z.object({ ended_at: z.int(), ended_seq: z.int() }));
const Counted = z.array(z.object({ start: z.int(), requests: z.int() }));
const Oldest = z.tuple([z.object({ oldest: z.int().nullable() })]);

/** A page of records, those that ended last first. */
export async function pageOfRecords(queries: Queries, wanted: PageQuery): Promise<FoundPage> {
  const { ids } = wanted.groups;
  if (ids !== null && ids.length === 0) return { records: [], next: null };
  const place = placing(windowOf(wanted).values.length);
  const named = namedBy(wanted.wanted, place.next);
  const searched = searchedBy(wanted.wanted, place.next);
  if (named.length > 0) {
    // Those have an index of their own.
    const further = [...named, ...searched, ...groupCondition(ids)].map((one) => ` and ${one}`).join('');
    return { records: await select(queries, wanted, further, place.values), next: null };
  }
  if (searched.length > 0) return search(queries, wanted, searched, place);
  if (ids === null) return { records: await select(queries, wanted, '', []), next: null };
  return pageOfGroups(queries, wanted, ids);
}

/** The sums tell which hours hold records of these groups: no others are looked at. */
async function pageOfGroups(
  queries: Queries,
  wanted: PageQuery,
  filter: readonly number[],
): Promise<FoundPage> {
  const groups = `group_id in (${filter.join(', ')})`;
  const records: PlacedRecord[] = [];
  const [{ oldest }] = Oldest.parse(await queries.query('select min(ended_at) as oldest from usage_records'));
  const fromMs = Math.max(wanted.fromMs, oldest ?? Number.POSITIVE_INFINITY);
  const newestMs = Math.min(wanted.toMs - 1, wanted.before?.ms ?? Number.POSITIVE_INFINITY);
  let lastHour = Math.floor(newestMs / HOUR_MS);
  const fromHour = Math.floor(Math.max(fromMs, 0) / HOUR_MS);
  const grains = await grainsFor(queries, { needed: wanted.groups.needed, fromHour });
  while (records.length < wanted.limit && newestMs >= fromMs) {
    const limit = wanted.limit - records.length;
    const hours = await hoursWith(queries, { groups, grains }, [fromHour, lastHour], limit);
    const first = hours.at(-1);
    if (first === undefined) break;
    for (const [from, to] of closeTogether(hours)) {
      const within = {
        fromMs: Math.max(fromMs, from * HOUR_MS),
        toMs: Math.min(newestMs + 1, (to + 1) * HOUR_MS),
        before: wanted.before,
        limit: wanted.limit - records.length,
      };
      if (within.limit <= 0) break;
      records.push(...(await select(queries, within, ` and r.${groups}`, [])));
    }
    lastHour = first - 1;
  }
  return { records, next: null };
}

/** Times from the first to the last of some hours, the newest first: what lies between hours is read as well where it is not much. */
function closeTogether(newestFirst: readonly number[]): readonly (readonly [from: number, to: number])[] {
  const times: [number, number][] = [];
  for (const hour of newestFirst) {
    const time = times.at(-1);
    if (time !== undefined && time[0] - hour <= MAX_GAP_HOURS) time[0] = hour;
    else times.push([hour, hour]);
  }
  return times;
}

/** The newest hours in which these groups have so many records, as the sums say; the days in which they have any are looked for first. */
async function hoursWith(
  { query }: Queries,
  { groups, grains }: { readonly groups: string; readonly grains: Grains },
  [from, to]: readonly [number, number],
  count: number,
): Promise<readonly number[]> {
  const newest = async (grain: number, [first, last]: readonly [number, number], limit: number) =>
    Counted.parse(
      await query(
        `select start, sum(requests) as requests from usage_sums
         where grain = ${grain} and start >= $1 and start <= $2 and ${groups} and requests > 0
         group by start order by start desc limit ${limit}`,
        [first, last],
      ),
    );
  const [firstDay, lastDay] = [Math.floor(from / HOURS_IN.day), Math.floor(to / HOURS_IN.day)];
  const hours: number[] = [];
  let found = 0;
  // All that the last day has may be after `to`.
  for (const { start: day } of await newest(grains.day, [firstDay, lastDay], count + 1)) {
    const [first, next] = [day * HOURS_IN.day, (day + 1) * HOURS_IN.day];
    const within = [Math.max(first, from), Math.min(next - 1, to)] as const;
    for (const { start, requests } of await newest(grains.hour, within, count)) {
      hours.push(start);
      found += requests;
      if (found >= count) return hours;
    }
  }
  return hours;
}

/** So many records are looked at, and the next page goes on. */
async function search(
  queries: Queries,
  wanted: PageQuery,
  searched: readonly string[],
  place: Placing,
): Promise<FoundPage> {
  const { values, where } = windowOf(wanted);
  const last = Places.parse(
    await queries.query(
      `select ended_at, ended_seq from usage_records r where ${where} ${NEWEST} limit 1 offset ${MAX_SEARCHED - 1}`,
      values,
    ),
  ).at(0);
  const end: EntryId | null = last === undefined ? null : { ms: last.ended_at, seq: last.ended_seq };
  const conditions = [
    ...searched,
    ...groupCondition(wanted.groups.ids),
    ...(end === null ? [] : [`(r.ended_at, r.ended_seq) >= (${place.next(end.ms)}, ${place.next(end.seq)})`]),
  ];
  const further = conditions.map((condition) => ` and ${condition}`).join('');
  return { records: await select(queries, wanted, further, place.values), next: end };
}

function windowOf({ fromMs, toMs, before }: Pick<PageQuery, 'fromMs' | 'toMs' | 'before'>) {
  const values: SqlValue[] = [fromMs, toMs, ...(before === null ? [] : [before.ms, before.seq])];
  const earlier = before === null ? '' : ' and (r.ended_at, r.ended_seq) < ($3, $4)';
  return { values, where: `r.ended_at >= $1 and r.ended_at < $2${earlier}` };
}

async function select(
  { query }: Queries,
  wanted: Pick<PageQuery, 'fromMs' | 'toMs' | 'before' | 'limit'>,
  further: string,
  furtherValues: readonly SqlValue[],
): Promise<PlacedRecord[]> {
  const { values, where } = windowOf(wanted);
  const rows = await query(
    `select ${SELECTED} from ${FROM} where ${where}${further} ${NEWEST} limit ${wanted.limit}`,
    [...values, ...furtherValues],
  );
  return rows.map(recordOf);
}

/** Those with this id, their own or their request's; that which ended last first. */
export async function findRecords({ query }: Queries, id: string): Promise<readonly PlacedRecord[]> {
  // Each half has an index of its own.
  const half = (column: string) =>
    `select * from (select ${RECORD_COLUMNS.map((name) => `r.${name}`).join(', ')} from usage_records r where r.${column} = $1 ${NEWEST} limit ${MAX_SAME_ID}) as ${column}_found`;
  const rows = await query(
    `select ${SELECTED} from (${half('id')} union ${half('request_id')}) as r join usage_groups g on g.id = r.group_id ${NEWEST}`,
    [storable(id)],
  );
  return rows.map(recordOf);
}

/** The next records in the order of their ends. */
export async function recordsAfter(
  { query }: Queries,
  { after, toMs, limit }: { readonly after: EntryId; readonly toMs: number; readonly limit: number },
): Promise<readonly PlacedRecord[]> {
  const rows = await query(
    `select ${SELECTED} from ${FROM}
     where (r.ended_at, r.ended_seq) > ($1, $2) and r.ended_at < $3
     order by r.ended_at, r.ended_seq limit ${limit}`,
    [after.ms, after.seq, toMs],
  );
  return rows.map(recordOf);
}
