import { newKeyRecord } from '@gateway/metering/keys/key-record';
import { createKeyStore } from '@gateway/metering/keys/key-store';
import type { KeyOrder, RecordFilter } from '@gateway/metering/keys/records/access-records';
import { createProjection } from '@gateway/metering/keys/records/projection';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createAccessStore, writeRecords } from '../access/access-store.ts';
import { createRecorder } from '../recorder/recorder.ts';
import { append, sampleRecord } from '../testing/sample-records.ts';
import { onBothDatabases } from '../testing/use-database.ts';

/** Rounds are begun by the tests. */
const NEVER_MS = 1_000_000_000;
const DAY_MS = 86_400_000;
/** Long ago: days are moved by the earlier one of this clock and that of Redis. */
const NOON = (Math.floor(Date.now() / DAY_MS) - 60) * DAY_MS + DAY_MS / 2;

onBothDatabases((used) => {
  const keyOf = (name: string, team: string | null = null) => ({
    kind: 'key' as const,
    ...{ id: `key_${name}`, version: 1 },
    text: JSON.stringify({ ...newKeyRecord(`key_${name}`, { name }, `hash-${name}`, NOON), team }),
  });
  const makeKeys = (...keys: ReturnType<typeof keyOf>[]) =>
    used.database.write((queries) => writeRecords(queries, keys));
  const store = () =>
    createKeyStore({
      records: createAccessStore({
        ...{ database: used.database, now: () => NOON },
        projection: createProjection(used.redis),
        opened: () => Promise.resolve(),
      }),
      ...{ gatewaySecret: 'a gateway secret of more than 32 characters', now: () => NOON },
    });
  const record = async (nowMs: number) => {
    const recorder = createRecorder({
      ...{ redis: used.redis, opened: used.opened, now: () => nowMs, timeZone: 'UTC' },
      ...{ keepRecordsDays: 90, keepSumsDays: 400, everyMs: NEVER_MS },
      ...{ onBroken: () => undefined, report: () => undefined },
    });
    onTestFinished(() => recorder[Symbol.asyncDispose]());
    await recorder.round();
    await recorder[Symbol.asyncDispose]();
  };
  const used30 = async (name: string) =>
    (await store().listKeys({ limit: 9, only: { ids: [`key_${name}`] } })).uses.get(`key_${name}`);
  const spend = (name: string, costMicroUsd: number, endMs: number) =>
    append(used.redis, sampleRecord(`${name}-${endMs}`, { keyId: `key_${name}`, costMicroUsd }), endMs);

  test('keys are listed by last use, requests and spend, page by page, and filtered as other lists are', async () => {
    await makeKeys(keyOf('a', 'red'), keyOf('b'), keyOf('c', 'red'), keyOf('d'), keyOf('unused', 'red'));
    await spend('a', 10, NOON - 5000);
    await spend('b', 500, NOON - 4000);
    await spend('b', 500, NOON - 3000);
    await spend('c', 10, NOON - 2000);
    await spend('d', 30, NOON - 1000);
    await record(NOON);
    const listed = async (order: KeyOrder, only: RecordFilter = {}) => {
      const names: string[] = [];
      let after: string | undefined;
      do {
        const page = await store().listKeys({ limit: 2, order, only, after });
        names.push(...page.keys.map(({ name }) => name));
        after = page.next ?? undefined;
      } while (after !== undefined);
      return names.join(' ');
    };
    const by = (name: KeyOrder['by'], isAscending = false) => ({ by: name, isAscending });
    expect(await listed(by('lastUsed'))).toBe('d c b a unused');
    expect(await listed(by('lastUsed', true))).toBe('unused a b c d');
    expect(await listed(by('requests'))).toBe('b d c a unused');
    expect(await listed(by('spend'))).toBe('b d c a unused');
    expect(await listed(by('spend', true))).toBe('unused a c d b');
    expect(await listed(by('created', true))).toBe('a b c d unused');
    expect(await listed(by('spend'), { teams: ['red'] })).toBe('c a unused');
    expect(await listed(by('spend'), { teams: ['red'], search: 'A' })).toBe('a');
    expect(await used30('b')).toEqual({ lastUsedMs: NOON - 3000, requests: 2, microUsd: 1000 });
    expect(await used30('unused')).toEqual({ lastUsedMs: null, requests: 0, microUsd: 0 });
  });

  test('what is older than 30 days leaves the sums of a key, and its last use stays', async () => {
    await makeKeys(keyOf('a'));
    await spend('a', 7, NOON - 29 * DAY_MS);
    await spend('a', 100, NOON);
    await record(NOON);
    expect(await used30('a')).toEqual({ lastUsedMs: NOON, requests: 2, microUsd: 107 });
    await record(NOON + DAY_MS);
    expect(await used30('a')).toEqual({ lastUsedMs: NOON, requests: 1, microUsd: 100 });
    // A day that is over counts no more, however late its record comes.
    await spend('a', 1000, NOON - 29 * DAY_MS + 1);
    await record(NOON + DAY_MS);
    expect(await used30('a')).toEqual({ lastUsedMs: NOON, requests: 1, microUsd: 100 });
    await record(NOON + 31 * DAY_MS);
    expect(await used30('a')).toEqual({ lastUsedMs: NOON, requests: 0, microUsd: 0 });
  });

  test('keys and records of before there were such rows are counted, their last use by its hour', async () => {
    await makeKeys(keyOf('a'), keyOf('b'));
    await spend('a', 7, NOON - 40 * DAY_MS);
    await spend('a', 20, NOON - 3 * DAY_MS + 60_000);
    await record(NOON);
    await used.database.write(async ({ query }) => {
      await query('delete from key_uses');
      await query("delete from recorder_facts where name = 'key uses since'");
    });
    await record(NOON);
    expect(await used30('a')).toEqual({ lastUsedMs: NOON - 3 * DAY_MS, requests: 1, microUsd: 20 });
    expect(await used30('b')).toEqual({ lastUsedMs: null, requests: 0, microUsd: 0 });
  });

  test('an order of uses is read along its index', async () => {
    await used.database.write(async ({ query }) => {
      await query(
        `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 20000)
         insert into access_records (kind, id, version, content, state, has_budget, searched)
         select 'key', 'key_' || n, 1, 'x', 'active', 0, 'x' from numbers`,
      );
      await query(
        `insert into key_uses (key_id, micro_usd) select id, 7 from access_records where kind = 'key'`,
      );
      // SQLite has no statistics of its own; PostgreSQL makes them.
      if (used.dialect === 'postgres')
        for (const table of ['access_records', 'key_uses']) await query(`analyze ${table}`);
    });
    const explain = used.dialect === 'sqlite' ? 'explain query plan' : 'explain';
    const rows = await used.database.read(({ query }) =>
      query(
        `${explain} select a.id, a.content, u.last_used_at from key_uses u cross join access_records a
         where a.kind = 'key' and a.id = u.key_id and (u.micro_usd, u.key_id) < ($1, $2) order by u.micro_usd desc, u.key_id desc limit 51`,
        [7, 'key_5'],
      ),
    );
    const plan = z
      .array(z.record(z.string(), z.unknown()))
      .parse(rows)
      .flatMap((row) => Object.values(row))
      .join('\n');
    expect(plan).toContain('key_uses_micro_usd');
    expect(plan).not.toMatch(/temp b-tree|\bSort\b|seq scan on access_records/i);
  });
});
