import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { dayOf, redisNames } from '@gateway/metering/redis-names';
import { createRefusalCounts } from '@gateway/metering/usage/refusal-counts';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { append, at, sampleRecord } from '../testing/sample-records.ts';
import { onBothDatabases, type UsedDatabase } from '../testing/use-database.ts';
import { grainsOf, UNITS } from '../usage/rollups.ts';
import { createUsageStore } from '../usage/usage-store.ts';
import { createRecorder, type RecorderEvent } from './recorder.ts';
import { deleteOld } from './retention.ts';

/** Rounds are begun by the tests. */
const NEVER_MS = 1_000_000_000;
const HOUR_MS = 3_600_000;
/** A request is added to as many: of its hour, its day and its week in the rollups. */
const SUMS_OF_ONE = UNITS.flatMap(grainsOf).length;

const Counted = z.array(z.object({ count: z.coerce.number() }));

onBothDatabases((used) => {
  const broken: string[] = [];
  const events: RecorderEvent[] = [];
  const recorderOf = ({ opened, redis }: Pick<UsedDatabase, 'opened' | 'redis'> = used, now = Date.now) => {
    const recorder = createRecorder({
      ...{ redis, opened, now, timeZone: 'UTC', keepRecordsDays: 90, keepSumsDays: 400, everyMs: NEVER_MS },
      onBroken: ({ id }) => void broken.push(id),
      report: (event) => void events.push(event),
    });
    onTestFinished(async () => {
      await recorder[Symbol.asyncDispose]();
      broken.length = 0;
      events.length = 0;
    });
    return recorder;
  };
  const store = () =>
    createUsageStore({
      database: used.database,
      redis: used.redis,
      now: Date.now,
      onBroken: () => undefined,
    });
  const count = async (table: string) => {
    const rows = await used.database.read(({ query }) => query(`select count(*) as count from ${table}`));
    return Counted.parse(rows).at(0)?.count;
  };
  const today = () => redisNames.records(dayOf(Date.now()));
  const total = async () => {
    const [row] = await store().sums({ fromMs: 0, toMs: Date.now() + HOUR_MS, groupBy: [], only: {} });
    return row && { requests: row.sums.requests, cost: row.sums.costMicroUsd, refused: row.sums.refused };
  };

  test('records and refusals are counted once, however often a round begins', async () => {
    const recorder = recorderOf();
    for (let n = 0; n < 30; n += 1) await append(used.redis, sampleRecord(`req_${n}`, { costMicroUsd: n }));
    const refusals = createRefusalCounts({ redis: used.redis, now: Date.now, keepSumsDays: 1 });
    refusals.add({ keyId: 'key_1', team: null, endpoint: 'images', model: null });
    await refusals.close();
    for (let round = 0; round < 3; round += 1) {
      expect(await total()).toEqual({ requests: 30, cost: 435, refused: 1 });
      await recorder.round();
    }
    expect(await count('usage_records')).toBe(30);
  });

  test('what is recorded leaves Redis an hour later, and nothing else does', async () => {
    // At a time of the day when both are of the same one: the last record of each stays.
    const noon = Math.floor(Date.now() / (24 * HOUR_MS)) * 24 * HOUR_MS - 12 * HOUR_MS;
    const recorder = recorderOf(used, () => noon);
    await append(used.redis, sampleRecord('old'), noon - HOUR_MS - 60_000);
    await append(used.redis, sampleRecord('new'), noon);
    await recorder.round();
    const left = (await used.redis.keys('gateway:{meter}:records:*')).map((name) => used.redis.xlen(name));
    expect((await Promise.all(left)).reduce((sum, length) => sum + length, 0)).toBe(1);
    expect(await count('usage_records')).toBe(2);
  });

  test('an entry that cannot be read, or stored, is put aside and holds up no other', async () => {
    const recorder = recorderOf();
    await append(used.redis, sampleRecord('one'));
    await used.redis.xadd(today(), '*', 'record', '{"id":"torn');
    await append(used.redis, sampleRecord('two', { model: 'nul \0 and half a pair \ud800' }));
    // More than a column of whole numbers holds.
    await append(used.redis, sampleRecord('huge', { attempts: 2 ** 52, startedAtMs: 1e300 }));
    await append(used.redis, sampleRecord('three'));
    await recorder.round();
    expect(broken).toHaveLength(1);
    expect(await count('broken_records')).toBe(1);
    expect(await total()).toMatchObject({ requests: 4 });
    expect((await store().find('two', { of: 'last', isSeen: () => true }))?.model).toBe(
      'nul \ufffd and half a pair \ufffd',
    );
  });

  test('a Redis that was emptied, or set back, changes nothing of what is recorded', async () => {
    const recorder = recorderOf();
    const records = Array.from({ length: 5 }, (_, n) => sampleRecord(`req_${n}`));
    for (const [n, record] of records.entries()) await append(used.redis, record, Date.now() + n);
    await recorder.round();
    await used.redis.flushall();
    await recorder.round();
    expect(await total()).toMatchObject({ requests: 5, cost: 50 });
    // A replica that lacks the last ones, and gets two of them again from spools on disk.
    for (const [n, record] of records.slice(0, 2).entries())
      await append(used.redis, record, Date.now() - 60_000 + n);
    await append(used.redis, sampleRecord('after'), Date.now() - 50_000);
    await recorder[Symbol.asyncDispose]();
    const next = recorderOf();
    await next.round();
    await next.round();
    expect(events.map(({ what }) => what)).toContain('read again');
    expect(await total()).toMatchObject({ requests: 6, cost: 60 });
  });

  test('a Redis with another past is read from the beginning', async () => {
    const recorder = recorderOf();
    await append(used.redis, sampleRecord('before'));
    await recorder.round();
    await used.database.write(({ query }) =>
      query("update recorder_facts set value = 'another' where name = 'source'"),
    );
    await used.redis.xadd(today(), '*', 'record', JSON.stringify(sampleRecord('after')));
    await recorder[Symbol.asyncDispose]();
    await recorderOf().round();
    expect(events.at(-1)).toMatchObject({ what: 'read again' });
    expect(await total()).toMatchObject({ requests: 2 });
  });

  test('of two recorders one records, and the other takes over when the first has ended or is lost', async () => {
    const first = recorderOf();
    const second = recorderOf();
    const late = recorderOf(used, () => Date.now() + HOUR_MS);
    await append(used.redis, sampleRecord('one'));
    await first.round();
    await append(used.redis, sampleRecord('two'));
    await second.round();
    expect(await count('usage_records')).toBe(1);
    await late.round();
    expect(await count('usage_records')).toBe(2);
    await append(used.redis, sampleRecord('three'));
    await Promise.all([first.round(), second.round(), late.round(), late.round()]);
    expect(await count('usage_records')).toBe(3);
    await late[Symbol.asyncDispose]();
    await append(used.redis, sampleRecord('four'));
    // It may have had the lease in between, and learns in this round that it has lost it.
    for (let round = 0; round < 2; round += 1) await second.round();
    expect(await total()).toEqual({ requests: 4, cost: 40, refused: 0 });
    expect(await count('usage_records')).toBe(4);
  });

  test('a recorder whose clock was a year ahead deletes nothing, keeps no other one waiting, and its records are not lost', async () => {
    const yearMs = 365 * 24 * HOUR_MS;
    await append(used.redis, sampleRecord('before'));
    await recorderOf().round();
    const ahead = recorderOf(used, () => Date.now() + yearMs);
    await ahead.round();
    expect(await count('usage_records')).toBe(1);
    // A process whose clock is a month ahead.
    const day = dayOf(Date.now() + 30 * 24 * HOUR_MS);
    await used.redis.xadd(redisNames.records(day), '*', 'record', JSON.stringify(sampleRecord('ahead')));
    await append(used.redis, sampleRecord('one'));
    await recorderOf().round();
    expect(await count('usage_records')).toBe(3);
  });

  test('sums that an earlier gateway kept in Redis are moved once, beside the records that are there', async () => {
    const field = (keyId: string, rest: string) =>
      [keyId, '', 'gpt-5', 'openai', 'responses', 'ok', rest].join('\u001f');
    const withRecords = Date.now() - 3 * 24 * HOUR_MS;
    const without = Date.now() - 60 * 24 * HOUR_MS;
    await append(used.redis, sampleRecord('kept', { costMicroUsd: 7 }), withRecords);
    for (const atMs of [withRecords, without]) {
      const hour = new Date(atMs).toISOString().slice(0, 13);
      await used.redis.hset(redisNames.sums(hour), {
        [field('key_1', 'requests')]: 1,
        [field('key_1', 'costMicroUsd')]: 7,
        [field('key_1', 'refused')]: 2,
        'no field': 1,
      });
      await used.redis.hset(redisNames.latencies(hour), { [field('key_1', 't5')]: 1 });
    }
    const recorder = recorderOf();
    await recorder.round();
    await recorder.round();
    expect(await total()).toEqual({ requests: 2, cost: 14, refused: 4 });
    expect(broken).toHaveLength(2);
    expect(await used.redis.keys('gateway:{meter}:*s:*')).toEqual([redisNames.records(dayOf(withRecords))]);
    const [row] = await store().sums({
      ...{ fromMs: without - HOUR_MS, toMs: without + HOUR_MS, groupBy: ['day'], only: {} },
    });
    expect(row?.latencies.totalMs.quantile(0.5)).toBeGreaterThan(5);
  });

  test('what is older than it is kept is deleted, and the rest stays', async () => {
    const recorder = recorderOf();
    const old = Date.now() - 80 * 24 * HOUR_MS;
    await append(used.redis, sampleRecord('old', { startedAtMs: old }), old);
    await append(used.redis, sampleRecord('new'));
    await recorder.round();
    expect(await count('usage_records')).toBe(2);
    const { database } = used;
    const deleteIn = (days: number) =>
      deleteOld({
        ...{ database, lease: database, nowMs: Date.now() + days * 24 * HOUR_MS },
        ...{ keepRecordsDays: 90, keepSumsDays: 400 },
      });
    await deleteIn(60);
    expect([await count('usage_records'), await count('usage_latencies')]).toEqual([1, 2 * SUMS_OF_ONE]);
    expect(await total()).toMatchObject({ requests: 2 });
    await deleteIn(350);
    expect([await count('usage_records'), await count('usage_latencies')]).toEqual([0, 0]);
    expect(await count('usage_sums')).toBe(SUMS_OF_ONE);
  });

  test('indexes that came after the table of records are made by the recorder, each once', async () => {
    const { dialect, database } = used;
    const indexes = () =>
      database.read(({ query }) =>
        query(
          dialect === 'sqlite'
            ? "select name, tbl_name as on_table from sqlite_master where type = 'index' and sql like '%(session,%'"
            : "select indexname as name, tablename as on_table from pg_indexes where indexdef like '%(session,%'",
        ),
      );
    // There are records and partitions, as an earlier gateway left them.
    const earlier = await append(used.redis, sampleRecord('one')).then(() => recorderOf());
    await earlier.round();
    for (const { name, on_table: table } of await indexes())
      if (table === 'usage_records') await database.write(({ query }) => query(`drop index ${name}`));
    expect(await indexes()).toEqual([]);
    await earlier[Symbol.asyncDispose]();
    for (const _ of ['made', 'there']) {
      const recorder = recorderOf();
      await append(used.redis, sampleRecord('next', { startedAtMs: Date.now() + 40 * 24 * HOUR_MS }));
      await recorder.round();
      await recorder[Symbol.asyncDispose]();
      const tables = (await indexes()).map(({ on_table: table }) => table);
      expect(tables).toContain('usage_records');
      expect(new Set(tables).size).toBe(tables.length);
      if (dialect === 'postgres') expect(tables.length).toBeGreaterThan(4);
    }
  });

  test('a record comes back as it was, with all that it says and all that it leaves out', async () => {
    const recorder = recorderOf();
    const records = [
      sampleRecord('full', {
        ...{ team: 'search', requestId: 'mine', channel: 'openai', firstByteMs: 1.25, durationMs: 3.5 },
        consumption: { ...NOTHING_CONSUMED, cacheWrite1hTokens: 0, inputTokens: 2 ** 40 },
        detail: { isStreamed: true, dropped: 'top_k', unitPrices: { input: 1.25 } },
      }),
      sampleRecord('bare', {
        team: null,
        channel: null,
        firstByteMs: null,
        costMicroUsd: null,
        estimated: true,
      }),
      sampleRecord('empty', { team: '', channel: '' }),
    ];
    for (const record of records) await append(used.redis, record, at('2026-11-20T10:00:00Z'));
    await recorder.round();
    const found = [];
    for await (const record of store().all({ fromMs: 0, toMs: Date.now() })) found.push(record);
    expect(found).toEqual(records);
  });
});
