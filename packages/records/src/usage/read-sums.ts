import { MEASURES } from '@gateway/metering/usage/sums';
import { addLatency, hoursOf, type UsageQuery, type UsageRows } from '@gateway/metering/usage/usage-rows';
import { z } from 'zod';
import type { Queries, Row } from '../database/database.ts';
import { columnOf } from '../database/migrations.ts';
import { GRAINS, HOURS_PER_DAY } from './add-sums.ts';
import { findGroups } from './usage-groups.ts';

const Place = z.object({ start: z.int(), group_id: z.int() });
const Counted = z.object({ bucket: z.string(), count: z.number() });

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

/** Adds what the database has to the rows of a query. */
export async function readSums({ query }: Queries, wanted: UsageQuery, rows: UsageRows): Promise<void> {
  const groups = await findGroups({ query }, wanted.only);
  const hasFilter = Object.values(wanted.only).some((value) => value !== undefined);
  const isByTime = wanted.groupBy.includes('hour') || wanted.groupBy.includes('day');
  for (const { grain, from, to } of sectionsOf(wanted)) {
    // Where rows have no time in common, any time of the section stands for all of it.
    const start = isByTime ? 'start' : 'min(start) as start';
    const by = isByTime ? 'start, group_id' : 'group_id';
    const filter = hasFilter ? ` and group_id in (${[...groups.keys()].join(', ') || 'null'})` : '';
    const where = `grain = ${GRAINS[grain]} and start >= $1 and start < $2${filter}`;
    const rowAt = (row: Row) => {
      const place = Place.parse(row);
      const one = groups.get(place.group_id);
      return one && rows.rowOf(grain === 'day' ? place.start * HOURS_PER_DAY : place.start, one);
    };
    const columns = MEASURES.map((name) => `sum(${columnOf(name)}) as ${columnOf(name)}`).join(', ');
    for (const row of await query(
      `select ${start}, group_id, ${columns} from usage_sums where ${where} group by ${by}`,
      [from, to],
    )) {
      const found = rowAt(row);
      if (found !== undefined) for (const name of MEASURES) found.sums[name] += Number(row[columnOf(name)]);
    }
    for (const row of await query(
      `select ${start}, group_id, bucket, sum(count) as count from usage_latencies where ${where} group by ${by}, bucket`,
      [from, to],
    )) {
      const found = rowAt(row);
      const { bucket, count } = Counted.parse(row);
      if (found !== undefined) addLatency(found, bucket, count);
    }
  }
}
