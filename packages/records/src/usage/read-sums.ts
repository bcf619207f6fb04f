import { MEASURES } from '@gateway/metering/usage/sums';
import {
  addLatency,
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
import { inTurns } from './in-turns.ts';
import { type Grains, grainsFor, type Unit } from './rollups.ts';
import { sectionsOf } from './sections.ts';
import { idsOfWanted, neededGroups } from './usage-groups.ts';

/** Such as `f13:5 t17:5`; null where no request of a total was measured. */
const Packed = z.object({ buckets: z.string().nullable() });
const COLUMNS = MEASURES.map((measure) => ({ measure, column: columnOf(measure) }));
const isTime = (by: GroupBy): boolean => by === 'hour' || by === 'day';

/** What a section's rows are grouped by, in SQL. */
const columnFor = (by: GroupBy): string => (isTime(by) ? 't.start' : `g.${columnOf(by)}`);

const groupedBy = (columns: readonly string[]): string =>
  columns.length === 0 ? '' : ` group by ${[...new Set(columns)].join(', ')}`;

const grainOf = (grains: Grains, unit: Unit): number =>
  unit === 'week' ? (grains.week?.grain ?? grains.day) : grains[unit];

/** Adds what the database has to the rows of a query. */
export async function readSums(queries: Queries, wanted: UsageQuery, rows: UsageRows): Promise<void> {
  const { groupBy } = wanted;
  const ids = await idsOfWanted(queries, wanted);
  const [fromHour] = hoursOf(wanted);
  const grains = await grainsFor(queries, { needed: neededGroups(wanted), fromHour });
  const filter = ids === null ? '' : ` and s.group_id in (${ids.join(', ') || 'null'})`;
  const isByGroup = !groupBy.every(isTime);
  const join = isByGroup ? ' join usage_groups g on g.id = t.group_id' : '';
  const sections = sectionsOf(wanted, {
    weeksSince: grains.week?.since ?? null,
    groupCount: ids?.length ?? null,
  });
  for (const { unit, starts, values, isByStart, sharesOf } of sections) {
    const where = `where s.grain = ${grainOf(grains, unit)} and ${starts}${filter}`;
    /** Rows are added up by the ids of their groups first, which are short; some groups have the same names. */
    const ownColumns = [...(isByStart ? ['start'] : []), ...(isByGroup ? ['group_id'] : [])];
    const names = groupBy.map((by, at) => `${isTime(by) && !isByStart ? 0 : columnFor(by)} as by_${at}`);
    const byColumns = groupBy.filter((by) => isByStart || !isTime(by)).map(columnFor);
    const selectOf = (
      table: string,
      { by, added }: { readonly by: readonly string[]; readonly added: Readonly<Record<string, string>> },
    ) => {
      const columns = [...ownColumns, ...by].map((name) => `s.${name}`);
      const sums = Object.entries(added).map(([name, of]) => `${of} as ${name}`);
      const byId = `select ${[...columns, ...sums].join(', ')} from ${table} s ${where}${groupedBy(columns)}`;
      const outer = by.map((name) => `t.${name}`);
      const totals = Object.keys(added).map((name) => `sum(t.${name}) as ${name}`);
      return `select ${[...names, ...outer, ...totals].join(', ')} from (${byId}) as t${join}${groupedBy([...byColumns, ...outer])}`;
    };
    /** One row for all buckets of a group: as rows of their own they would be some hundred thousand. */
    const latencies = () => {
      const counts = selectOf('usage_latencies', { by: ['bucket'], added: { count: 'sum(s.count)' } });
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
    const measures = COLUMNS.map(({ column }) => [column, `sum(s.${column})`] as const);
    const sums = selectOf('usage_sums', {
      by: [],
      added: { rows_added: 'count(*)', ...Object.fromEntries(measures) },
    });
    for await (const row of inTurns(await queries.query(sums, values))) {
      // A sum without groups has a row where there is nothing to add up.
      if (Number(row.rows_added) === 0) continue;
      for (const { target, factor } of targetsOf(row))
        for (const { measure, column } of COLUMNS) target.sums[measure] += factor * Number(row[column]);
    }
    for await (const row of inTurns(await latencies())) {
      const targets = targetsOf(row);
      for (const counted of Packed.parse(row).buckets?.split(' ') ?? []) {
        const [bucket = '', count] = counted.split(':');
        for (const { target, factor } of targets) addLatency(target, bucket, factor * Number(count));
      }
    }
  }
}
