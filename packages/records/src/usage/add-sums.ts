import { latencyBuckets } from '@gateway/metering/usage/latency';
import { type Groups, groupsOf, MEASURES, type Measure, NO_SUMS, sumsOf } from '@gateway/metering/usage/sums';
import { hourNumber } from '@gateway/metering/usage/usage-rows';
import { placesOf, type Queries, type SqlValue } from '../database/database.ts';
import { columnOf } from '../database/migrations.ts';
import type { PlacedRecord } from './record-rows.ts';
import { HOURS_IN, rollupsOf } from './rollups.ts';
import type { GroupIds } from './usage-groups.ts';

const AT_ONCE = 200;
const KEY = ['grain', 'start', 'group_id'];
const measures = MEASURES.map(columnOf);

interface Addition {
  readonly hour: number;
  readonly groups: Groups;
  readonly sums: Record<Measure, number>;
  /** By bucket, such as `f13`. */
  readonly latencies: Map<string, number>;
}

/** What is to be added to the sums, by hour and group. */
export interface Additions {
  addRecord(placed: PlacedRecord): void;
  addSum(hour: number, groups: Groups, measure: Measure, amount: number): void;
  addLatency(hour: number, groups: Groups, bucket: string, count: number): void;
  /** Adds it all; to be called within the writer's transaction. */
  write(queries: Queries, groupIds: GroupIds): Promise<void>;
}

export function createAdditions(): Additions {
  const additions = new Map<string, Addition>();
  const additionOf = (hour: number, groups: Groups): Addition => {
    const key = JSON.stringify([hour, groups]);
    const known = additions.get(key);
    if (known !== undefined) return known;
    const added = { hour, groups, sums: { ...NO_SUMS }, latencies: new Map<string, number>() };
    additions.set(key, added);
    return added;
  };
  const addTo = (counts: Map<string, number>, name: string, count: number) =>
    counts.set(name, (counts.get(name) ?? 0) + count);

  return {
    addRecord: ({ id, record }) => {
      const { sums, latencies } = additionOf(hourNumber(id.ms), groupsOf(record));
      for (const [measure, amount] of sumsOf(record)) sums[measure] += amount;
      for (const bucket of latencyBuckets(record)) addTo(latencies, bucket, 1);
    },
    addSum: (hour, groups, measure, amount) => {
      additionOf(hour, groups).sums[measure] += amount;
    },
    addLatency: (hour, groups, bucket, count) => {
      addTo(additionOf(hour, groups).latencies, bucket, count);
    },
    write: async (queries, groupIds) => {
      const all = [...additions.values()];
      const idOf = await groupIds.of(
        queries,
        all.flatMap(({ groups }) => rollupsOf(groups).map((rollup) => rollup.groups)),
      );
      const sums: SqlValue[][] = [];
      const latencies: SqlValue[][] = [];
      for (const addition of all)
        for (const { grains, groups } of rollupsOf(addition.groups)) {
          for (const { grain, unit } of grains) {
            const key = [grain, Math.floor(addition.hour / HOURS_IN[unit]), idOf(groups)];
            sums.push([...key, ...MEASURES.map((measure) => addition.sums[measure])]);
            for (const [bucket, count] of addition.latencies) latencies.push([...key, bucket, count]);
          }
        }
      await addRows(queries, { table: 'usage_sums', key: KEY, counts: measures }, sums);
      await addRows(
        queries,
        { table: 'usage_latencies', key: [...KEY, 'bucket'], counts: ['count'] },
        latencies,
      );
    },
  };
}

interface CountTable {
  readonly table: string;
  /** The columns of its primary key. */
  readonly key: readonly string[];
  readonly counts: readonly string[];
}

/** Adds to the rows of a table; those of the same key within one statement have been added up before. */
async function addRows(
  queries: Queries,
  { table, key, counts }: CountTable,
  rows: readonly SqlValue[][],
): Promise<void> {
  const merged = new Map<string, SqlValue[]>();
  for (const row of rows) {
    const name = JSON.stringify(row.slice(0, key.length));
    const known = merged.get(name);
    if (known === undefined) merged.set(name, [...row]);
    else for (let at = key.length; at < row.length; at += 1) known[at] = Number(known[at]) + Number(row[at]);
  }
  const all = [...merged.values()];
  const columns = [...key, ...counts];
  const added = counts.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(', ');
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const some = all.slice(at, at + AT_ONCE);
    await queries.query(
      `insert into ${table} (${columns.join(', ')}) values ${placesOf(some.length, columns.length)}
       on conflict (${key.join(', ')}) do update set ${added}`,
      some.flat(),
    );
  }
}
