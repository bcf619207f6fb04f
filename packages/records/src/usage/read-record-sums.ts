import { BUCKET_BOUNDS, LATENCIES, type Latency } from '@gateway/metering/usage/latency';
import { MEASURES, type Measure, SUCCEEDED } from '@gateway/metering/usage/sums';
import {
  addLatency,
  isTimeUnit,
  UNIT_MS,
  type UsageQuery,
  type UsageRow,
  type UsageRows,
} from '@gateway/metering/usage/usage-rows';
import type { Queries, Row } from '../database/database.ts';
import { columnOf } from '../database/migrations.ts';
import { inTurns } from './in-turns.ts';
import { groupCondition, namedBy, placing } from './record-conditions.ts';
import { idsOfWanted } from './usage-groups.ts';

/** What a record adds to each sum, in SQL; refusals have no records. */
const AMOUNTS: Readonly<Record<Exclude<Measure, 'refused'>, string>> = {
  requests: 'count(*)',
  failed: `sum(case when g.outcome = '${SUCCEEDED}' then 0 else 1 end)`,
  inputTokens: 'sum(r.input_tokens)',
  cachedInputTokens: 'sum(r.cached_input_tokens)',
  outputTokens: 'sum(r.output_tokens)',
  reasoningTokens: 'sum(r.reasoning_tokens)',
  images: 'sum(r.images)',
  characters: 'sum(r.characters)',
  audioMs: 'sum(r.audio_ms)',
  costMicroUsd: 'sum(coalesce(r.cost_micro_usd, 0))',
  unpricedRequests: 'sum(case when r.cost_micro_usd is null then 1 else 0 end)',
};

const COLUMNS: Readonly<Record<Latency, string>> = {
  firstOutputMs: 'r.first_byte_ms',
  totalMs: 'r.duration_ms',
};

/** The bucket of a time, in SQL. */
const bucketIn = (column: string): string =>
  `case ${BUCKET_BOUNDS.map((bound, bucket) => `when ${column} <= ${bound} then ${bucket}`).join(' ')} else ${BUCKET_BOUNDS.length} end`;

/** Adds what the database's records say to the rows of a query that sums cannot answer: single minutes, or who called. */
export async function readRecordSums(queries: Queries, wanted: UsageQuery, rows: UsageRows): Promise<void> {
  const ids = await idsOfWanted(queries, wanted);
  if (ids !== null && ids.length === 0) return;
  const { groupBy, fromMs, toMs } = wanted;
  const place = placing(0);
  const where = [
    `r.ended_at >= ${place.next(fromMs)}`,
    `r.ended_at < ${place.next(toMs)}`,
    ...groupCondition(ids),
    ...namedBy(wanted, place.next),
  ].join(' and ');
  const names = groupBy.map((by) => (isTimeUnit(by) ? `r.ended_at / ${UNIT_MS[by]}` : `g.${columnOf(by)}`));
  const rowOf = (row: Row): UsageRow =>
    rows.rowWith(
      groupBy.map((by, at) => {
        const value = row[`by_${at}`];
        return isTimeUnit(by) ? rows.nameOf(by, Number(value) * UNIT_MS[by]) : String(value);
      }),
    );
  const select = (
    columns: readonly string[],
    further: readonly string[],
    condition = '',
  ): Promise<readonly Row[]> => {
    const by = [...names, ...further];
    return queries.query(
      `select ${[...names.map((name, at) => `${name} as by_${at}`), ...columns].join(', ')}
       from usage_records r join usage_groups g on g.id = r.group_id
       where ${where}${condition}${by.length === 0 ? '' : ` group by ${by.join(', ')}`}`,
      place.values,
    );
  };
  const measures = MEASURES.filter((name) => name !== 'refused');
  const sums = measures.map((name) => `${AMOUNTS[name]} as ${columnOf(name)}`);
  for await (const row of inTurns(await select(sums, []))) {
    if (Number(row.requests) === 0) continue;
    const { sums: all } = rowOf(row);
    for (const name of measures) all[name] += Number(row[columnOf(name)]);
  }
  for (const latency of ['firstOutputMs', 'totalMs'] as const) {
    const column = COLUMNS[latency];
    const bucket = bucketIn(column);
    const ended = ` and g.outcome = '${SUCCEEDED}' and ${column} is not null`;
    const counted = await select([`${bucket} as bucket`, 'count(*) as count'], [bucket], ended);
    for await (const row of inTurns(counted))
      addLatency(rowOf(row), `${LATENCIES[latency]}${row.bucket}`, Number(row.count));
  }
}
