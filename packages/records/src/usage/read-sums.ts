import { MEASURES } from '@gateway/metering/usage/sums';
import {
  addLatency,
  daysIn,
  type GroupBy,
  hourName,
  hoursOf,
  type UsageQuery,
  type UsageRow,
  type UsageRows,
} from '@gateway/metering/usage/usage-rows';
import { z } from 'zod';
import type { Queries, Row } from '../database/database.ts';
import { columnOf } from '../database/migrations.ts';
import { grainsFor, HOURS_PER_DAY } from './rollups.ts';
import { idsOfWanted, neededGroups } from './usage-groups.ts';

/** Such as `f13:5 t17:5`; null where no request of a total was measured. */
const Packed = z.object({ buckets: z.string().nullable() });
/** Hours that one query names. */
const HOURS_AT_ONCE = 500;

/** A row's share in a day: it is added to it, or taken away from it. */
interface Share {
  readonly day: string;
  readonly factor: 1 | -1;
}

/** Hours, or days (UTC), that are read together. */
interface Section {
  readonly grain: 'hour' | 'day';
  /** Which, in SQL. */
  readonly starts: string;
  readonly values: readonly number[];
  /** The days of the query's time zone in which one of them counts. */
  readonly sharesOf: (start: number) => readonly Share[];
}

const BETWEEN = 's.start >= $1 and s.start < $2';

/**
 * A long time is read by its whole days (UTC), and by the hours before and after them. By days of another time zone, the hours that
 * belong to another day there are moved to it.
 */
function sectionsOf(query: UsageQuery): Section[] {
  const dayOf = daysIn(query);
  const [from, to] = hoursOf(query);
  const [firstDay, endDay] = [Math.ceil(from / HOURS_PER_DAY), Math.floor(to / HOURS_PER_DAY)];
  const byHour = (first: number, end: number): Section[] =>
    first >= end
      ? []
      : [
          {
            grain: 'hour',
            starts: BETWEEN,
            values: [first, end],
            sharesOf: (hour) => [{ day: dayOf(hour), factor: 1 }],
          },
        ];
  if (query.groupBy.includes('hour') || firstDay >= endDay) return byHour(from, to);
  const [first, end] = [firstDay * HOURS_PER_DAY, endDay * HOURS_PER_DAY];
  const utcDay = (day: number): string => daysIn({})(day * HOURS_PER_DAY);
  const utcDayOf = (hour: number): string => utcDay(Math.floor(hour / HOURS_PER_DAY));
  const moved = query.groupBy.includes('day')
    ? Array.from({ length: end - first }, (_, at) => first + at).filter(
        (hour) => dayOf(hour) !== utcDayOf(hour),
      )
    : [];
  return [
    ...byHour(from, first),
    {
      grain: 'day',
      starts: BETWEEN,
      values: [firstDay, endDay],
      sharesOf: (day) => [{ day: utcDay(day), factor: 1 }],
    },
    ...Array.from({ length: Math.ceil(moved.length / HOURS_AT_ONCE) }, (_, at): Section => {
      const hours = moved.slice(at * HOURS_AT_ONCE, (at + 1) * HOURS_AT_ONCE);
      return {
        grain: 'hour',
        starts: `s.start in (${hours.join(', ')})`,
        values: [],
        sharesOf: (hour) => [
          { day: dayOf(hour), factor: 1 },
          { day: utcDayOf(hour), factor: -1 },
        ],
      };
    }),
    ...byHour(end, to),
  ];
}

/** What a section's rows are grouped by, in SQL. */
const columnFor = (by: GroupBy): string => (by === 'hour' || by === 'day' ? 's.start' : `g.${columnOf(by)}`);

const groupedBy = (columns: readonly string[]): string =>
  columns.length === 0 ? '' : ` group by ${columns.join(', ')}`;

/** Adds what the database has to the rows of a query. */
export async function readSums(queries: Queries, wanted: UsageQuery, rows: UsageRows): Promise<void> {
  const { groupBy } = wanted;
  const ids = await idsOfWanted(queries, wanted);
  const [fromHour] = hoursOf(wanted);
  const grains = await grainsFor(queries, { needed: neededGroups(wanted), fromHour });
  const filter = ids === null ? '' : ` and s.group_id in (${ids.join(', ') || 'null'})`;
  const isByGroup = groupBy.some((by) => by !== 'hour' && by !== 'day');
  const join = isByGroup ? ' join usage_groups g on g.id = s.group_id' : '';
  const names = groupBy.map((by, at) => `${columnFor(by)} as by_${at}`);
  for (const { grain, starts, values, sharesOf } of sectionsOf(wanted)) {
    const where = `where s.grain = ${grains[grain]} and ${starts}${filter}`;
    const selectOf = (table: string, columns: readonly string[], by: readonly string[]) =>
      `select ${[...names, ...columns].join(', ')} from ${table} s${join} ${where}${groupedBy([...new Set(groupBy.map(columnFor)), ...by])}`;
    /** One row for all buckets of a group: as rows of their own they would be some hundred thousand. */
    const latencies = () => {
      const counts = selectOf('usage_latencies', ['s.bucket', 'sum(s.count) as count'], ['s.bucket']);
      const by = groupBy.map((_, at) => `by_${at}`);
      const packed = "string_agg(bucket || ':' || cast(count as text), ' ') as buckets";
      return queries.query(
        `select ${[...by, packed].join(', ')} from (${counts}) as counted${groupedBy(by)}`,
        values,
      );
    };
    const dayAt = groupBy.indexOf('day');
    /** The rows that a row of SQL counts in. */
    const targetsOf = (row: Row): readonly { readonly target: UsageRow; readonly factor: number }[] => {
      const rowOn = (day: string | undefined): UsageRow =>
        rows.rowWith(
          groupBy.map((by, at) => {
            const value = row[`by_${at}`];
            if (by === 'hour') return hourName(Number(value));
            return at === dayAt ? (day ?? '') : String(value);
          }),
        );
      if (dayAt < 0) return [{ target: rowOn(undefined), factor: 1 }];
      return sharesOf(Number(row[`by_${dayAt}`])).map(({ day, factor }) => ({ target: rowOn(day), factor }));
    };
    const sums = MEASURES.map((name) => `sum(s.${columnOf(name)}) as ${columnOf(name)}`);
    for (const row of await queries.query(
      selectOf('usage_sums', ['count(*) as rows_added', ...sums], []),
      values,
    )) {
      // A sum without groups has a row where there is nothing to add up.
      if (Number(row.rows_added) === 0) continue;
      for (const { target, factor } of targetsOf(row))
        for (const name of MEASURES) target.sums[name] += factor * Number(row[columnOf(name)]);
    }
    for (const row of await latencies()) {
      const targets = targetsOf(row);
      for (const counted of Packed.parse(row).buckets?.split(' ') ?? []) {
        const [bucket = '', count] = counted.split(':');
        for (const { target, factor } of targets) addLatency(target, bucket, factor * Number(count));
      }
    }
  }
}
