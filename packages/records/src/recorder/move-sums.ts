import type { BrokenRecord } from '@gateway/metering/broken-records';
import { redisNames } from '@gateway/metering/redis-names';
import { parseBucket } from '@gateway/metering/usage/latency';
import { parseField, parseSumField } from '@gateway/metering/usage/sums';
import { hourName, hourNumber } from '@gateway/metering/usage/usage-rows';
import type { Redis } from 'ioredis';
import type { Database } from '../database/database.ts';
import { createAdditions } from '../usage/add-sums.ts';
import { HOURS_IN } from '../usage/rollups.ts';
import type { GroupIds } from '../usage/usage-groups.ts';
import type { Lease } from './lease.ts';

// Gateways of before December 2026 kept the sums and latencies of each hour in Redis. They are read once.

/** Keys that one call of SCAN looks at. */
const SCANNED = 1000;
const DAY_LENGTH = 'YYYY-MM-DD'.length;

interface MoveOptions {
  readonly redis: Redis;
  readonly database: Database;
  readonly lease: Pick<Lease, 'write'>;
  readonly groupIds: GroupIds;
  readonly onBroken: (broken: BrokenRecord) => void;
  readonly stopping: AbortSignal;
}

const FACT = 'moved sums of ';
const ALL_MOVED = 'moved all sums';

/** Moves the sums of all days, each one once; the days that a start that was ended has left, the next one moves. Returns how many. */
export async function moveAllSums(options: MoveOptions): Promise<number> {
  const { database, lease, stopping } = options;
  const known = await database.read(({ query }) =>
    query('select name from recorder_facts where name = $1', [ALL_MOVED]),
  );
  if (known.length > 0) return 0;
  const days = await daysOfSums(options.redis);
  let moved = 0;
  for (const day of days) {
    if (stopping.aborted) return moved;
    if (await moveSums(options, day)) moved += 1;
  }
  await lease.write(({ query }) =>
    query("insert into recorder_facts (name, value) values ($1, '') on conflict do nothing", [ALL_MOVED]),
  );
  return moved;
}

/** The days (UTC) that have sums in Redis, the earliest first. */
async function daysOfSums(redis: Redis): Promise<readonly string[]> {
  const days = new Set<string>();
  for (const prefix of [redisNames.sums(''), redisNames.latencies('')])
    for (let cursor = '0', isDone = false; !isDone; isDone = cursor === '0') {
      const [next, names] = await redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', SCANNED);
      cursor = next;
      for (const name of names) days.add(name.slice(prefix.length, prefix.length + DAY_LENGTH));
    }
  return [...days].filter((day) => !Number.isNaN(Date.parse(day))).toSorted();
}

/**
 * Brings the sums of a day into the database, once: what the day's records say is added up from them, so only what no record says
 * is read: refusals; and all of it where the records are gone. Then Redis' copy is deleted. Returns whether there was any.
 */
export async function moveSums(
  { redis, lease, groupIds, onBroken }: MoveOptions,
  day: string,
): Promise<boolean> {
  const firstHour = hourNumber(Date.parse(day));
  const hours = Array.from({ length: HOURS_IN.day }, (_, at) => firstHour + at);
  const names = hours.flatMap((hour) => [
    redisNames.sums(hourName(hour)),
    redisNames.latencies(hourName(hour)),
  ]);
  if ((await redis.exists(...names)) === 0) return false;
  const hasRecords = (await redis.exists(redisNames.records(day))) === 1;
  const additions = createAdditions();
  for (const hour of hours) {
    const sums = redisNames.sums(hourName(hour));
    for (const [field, value] of Object.entries(await redis.hgetall(sums))) {
      const parsed = parseSumField(field);
      const amount = Number(value);
      if (parsed === undefined || !Number.isSafeInteger(amount))
        onBroken({ kind: 'usage_sum', id: `${sums} ${field}` });
      else if (!hasRecords || parsed.measure === 'refused')
        additions.addSum(hour, parsed.groups, parsed.measure, amount);
    }
    if (hasRecords) continue;
    const latencies = redisNames.latencies(hourName(hour));
    for (const [field, value] of Object.entries(await redis.hgetall(latencies))) {
      const parsed = parseField(field);
      const count = Number(value);
      if (parsed === undefined || parseBucket(parsed.rest) === undefined || !Number.isSafeInteger(count))
        onBroken({ kind: 'usage_sum', id: `${latencies} ${field}` });
      else additions.addLatency(hour, parsed.groups, parsed.rest, count);
    }
  }
  await lease.write(async (queries) => {
    const isFirst = await queries.query(
      "insert into recorder_facts (name, value) values ($1, '') on conflict do nothing returning name",
      [FACT + day],
    );
    if (isFirst.length > 0) await additions.write(queries, groupIds);
  });
  await redis.unlink(...names);
  return true;
}
