import { MEASURES } from '@gateway/metering/usage/sums';
import {
  addLatency,
  type GroupBy,
  hourName,
  hoursOf,
  type UsageQuery,
  type UsageRows,
} from '@gateway/metering/usage/usage-rows';
import { z } from 'zod';
import type { Queries, Row } from '../database/database.ts';
import { columnOf } from '../database/migrations.ts';
import { GRAINS, HOURS_PER_DAY } from './add-sums.ts';
import { idsOfWanted } from './usage-groups.ts';

const Counted = z.object({ bucket: z.string(), count: z.number() });
const DAY_LENGTH = 'YYYY-MM-DD'.length;

/** Hours, or days, from one to before another. */
interface Section {
  readonly grain: 'hour' | 'day';
  readonly from: number;
  readonly to: number;
}

/** A long time is read by its whole days, and by the hours before and after them. */
function sectionsOf(query: UsageQuery): Section[] {
  const [from, to] = hoursOf(query);
  const [firstDay, endDay] = [Math.ceil(from / HOURS_PER_DAY), Math.floor(to / HOURS_PER_DAY)];
  if (query.groupBy.includes('hour') || firstDay >= endDay) return [{ grain: 'hour', from, to }];
  const sections: Section[] = [
    { grain: 'hour', from, to: firstDay * HOURS_PER_DAY },
    { grain: 'day', from: firstDay, to: endDay },
    { grain: 'hour', from: endDay * HOURS_PER_DAY, to },
  ];
  return sections.filter((one) => one.from < one.to);
}

/** What a section's rows are grouped by, in SQL, and the name of a value. */
function groupingOf(by: GroupBy, grain: Section['grain']) {
  if (by === 'hour') return { sql: 's.start', nameOf: (value: unknown) => hourName(Number(value)) };
  if (by === 'day')
    return {
      sql: grain === 'day' ? 's.start' : `s.start / ${HOURS_PER_DAY}`,
      nameOf: (value: unknown) => hourName(Number(value) * HOURS_PER_DAY).slice(0, DAY_LENGTH),
    };
  return { sql: `g.${columnOf(by)}`, nameOf: String };
}

/** Adds what the database has to the rows of a query. */
export async function readSums(queries: Queries, wanted: UsageQuery, rows: UsageRows): Promise<void> {
  const ids = await idsOfWanted(queries, wanted);
  const filter = ids === null ? '' : ` and s.group_id in (${ids.join(', ') || 'null'})`;
  const isByGroup = wanted.groupBy.some((by) => by !== 'hour' && by !== 'day');
  const join = isByGroup ? ' join usage_groups g on g.id = s.group_id' : '';
  for (const { grain, from, to } of sectionsOf(wanted)) {
    const groupings = wanted.groupBy.map((by) => groupingOf(by, grain));
    const names = groupings.map(({ sql }, at) => `${sql} as by_${at}`);
    const where = `where s.grain = ${GRAINS[grain]} and s.start >= $1 and s.start < $2${filter}`;
    const rowAt = (row: Row) => rows.rowWith(groupings.map(({ nameOf }, at) => nameOf(row[`by_${at}`])));
    const read = (table: string, columns: readonly string[], by: readonly string[]) => {
      const groups = [...groupings.map(({ sql }) => sql), ...by];
      const groupBy = groups.length === 0 ? '' : ` group by ${groups.join(', ')}`;
      return queries.query(
        `select ${[...names, ...columns].join(', ')} from ${table} s${join} ${where}${groupBy}`,
        [from, to],
      );
    };
    const sums = MEASURES.map((name) => `sum(s.${columnOf(name)}) as ${columnOf(name)}`);
    for (const row of await read('usage_sums', ['count(*) as rows_added', ...sums], [])) {
      // A sum without groups has a row where there is nothing to add up.
      if (Number(row.rows_added) === 0) continue;
      const found = rowAt(row);
      for (const name of MEASURES) found.sums[name] += Number(row[columnOf(name)]);
    }
    for (const row of await read('usage_latencies', ['s.bucket', 'sum(s.count) as count'], ['s.bucket'])) {
      const { bucket, count } = Counted.parse(row);
      addLatency(rowAt(row), bucket, count);
    }
  }
}
