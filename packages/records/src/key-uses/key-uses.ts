import { hourNumber } from '@gateway/metering/usage/usage-rows';
import { type Database, placesOf, type Queries } from '../database/database.ts';
import { readFact, writeFact } from '../database/facts.ts';
import type { Lease } from '../recorder/lease.ts';
import type { PlacedRecord } from '../usage/record-rows.ts';
import { grainsFor, HOURS_IN } from '../usage/rollups.ts';

// A row for each key: when it was used last, and its requests and spend of the last days. Lists of keys are read in the order of
// its indexes. Records add to it as they are written; at a new day the oldest one is taken away again.

/** Days (UTC) whose requests and spend count, the present one included. */
const WINDOW_DAYS = 30;
const KEYS_AT_ONCE = 200;
const HOUR_MS = 3_600_000;

/** The first day of the window, as the number of days since 1970; absent before the window is filled for the first time. */
const FIRST_DAY = 'key uses since';

const dayNumber = (atMs: number): number => Math.floor(hourNumber(atMs) / HOURS_IN.day);

async function readFirstDay(queries: Queries): Promise<number> {
  return Number((await readFact(queries, FIRST_DAY)) ?? Number.POSITIVE_INFINITY);
}

/** Makes the rows of keys that are new. */
export async function addKeys({ query }: Queries, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await query(
    `insert into key_uses (key_id) values ${placesOf(ids.length, 1)} on conflict (key_id) do nothing`,
    ids,
  );
}

const ADDED = `on conflict (key_id) do update set
  last_used_at = case when excluded.last_used_at > key_uses.last_used_at then excluded.last_used_at else key_uses.last_used_at end,
  requests = key_uses.requests + excluded.requests,
  micro_usd = key_uses.micro_usd + excluded.micro_usd`;

/** Adds records that have just been written; to be called within the writer's transaction. */
export async function addKeyUses(
  queries: Queries,
  written: readonly PlacedRecord[],
  nowMs: number,
): Promise<void> {
  if (written.length === 0) return;
  const firstDay = await readFirstDay(queries);
  const byKey = Map.groupBy(written, ({ record }) => record.keyId);
  const rows = [...byKey].map(([keyId, records]) => {
    const counted = records.filter(({ id }) => dayNumber(id.ms) >= firstDay);
    // A clock that is ahead says nothing of a use to come.
    const lastMs = Math.min(nowMs, Math.max(...records.map(({ id }) => id.ms)));
    const microUsd = counted.reduce((sum, { record }) => sum + (record.costMicroUsd ?? 0), 0);
    return [keyId, lastMs, counted.length, microUsd];
  });
  for (let at = 0; at < rows.length; at += KEYS_AT_ONCE) {
    const some = rows.slice(at, at + KEYS_AT_ONCE);
    await queries.query(
      `insert into key_uses (key_id, last_used_at, requests, micro_usd) values ${placesOf(some.length, 4)} ${ADDED}`,
      some.flat(),
    );
  }
}

interface WindowOptions {
  readonly database: Database;
  readonly lease: Pick<Lease, 'write'>;
  readonly nowMs: number;
  /** Sums of earlier days may be gone. */
  readonly keepSumsDays: number;
}

/** Brings the window to this day, a day in each transaction. To be called before sums of old days are deleted. */
export async function moveWindow({ database, lease, nowMs, keepSumsDays }: WindowOptions): Promise<void> {
  const today = dayNumber(nowMs);
  const wanted = today + 1 - Math.min(WINDOW_DAYS, keepSumsDays);
  const known = await database.read(readFirstDay);
  if (known === wanted) return;
  // Keys that a version before this one has made beside it.
  await lease.write(({ query }) =>
    query(
      `insert into key_uses (key_id) select id from access_records where kind = 'key' on conflict (key_id) do nothing`,
    ),
  );
  // What the next days have by a clock that is ahead counts as well.
  let first = Number.isFinite(known) ? known : today + 3;
  while (first > wanted) {
    first -= 1;
    await lease.write((queries) => countDay(queries, { day: first, sign: 1, firstDay: first }));
  }
  while (first < wanted) {
    await lease.write((queries) => countDay(queries, { day: first, sign: -1, firstDay: first + 1 }));
    first += 1;
  }
}

interface CountedDay {
  readonly day: number;
  /** Added to the window, or taken away. */
  readonly sign: 1 | -1;
  /** Of the window then. */
  readonly firstDay: number;
}

async function countDay(queries: Queries, { day, sign, firstDay }: CountedDay): Promise<void> {
  const fromHour = day * HOURS_IN.day;
  const grains = await grainsFor(queries, { needed: new Set(['keyId']), fromHour });
  const sumsOf = (columns: string, grain: number, starts: string) =>
    `insert into key_uses (key_id, last_used_at, requests, micro_usd)
     select g.key_id, ${columns} from usage_sums s join usage_groups g on g.id = s.group_id
     where s.grain = ${grain} and ${starts} and s.requests > 0 group by g.key_id ${ADDED}`;
  await queries.query(
    sumsOf(`0, ${sign} * sum(s.requests), ${sign} * sum(s.cost_micro_usd)`, grains.day, 's.start = $1'),
    [day],
  );
  // Of what was recorded before there was such a row, the hour is known.
  if (sign === 1)
    await queries.query(
      sumsOf(`max(s.start) * ${HOUR_MS}, 0, 0`, grains.hour, 's.start >= $1 and s.start < $2'),
      [fromHour, fromHour + HOURS_IN.day],
    );
  await writeFact(queries, FIRST_DAY, String(firstDay));
}
