import { expect, onTestFinished, test } from 'vitest';
import { checkDatabase, openDatabase } from '../database/open-database.ts';
import { openPostgres } from '../database/open-postgres.ts';
import { append, sampleRecord } from '../testing/sample-records.ts';
import { onBothDatabases, type UsedDatabase, useDatabase } from '../testing/use-database.ts';
import { createUsageStore, type UsageStore } from '../usage/usage-store.ts';
import { createRecorder } from './recorder.ts';

/** Rounds are begun by the tests. */
const NEVER_MS = 1_000_000_000;
/** More than fit into the pages that a file has. */
const REQUESTS = 300;
const HOUR_MS = 3_600_000;

const recorderOf = ({ opened, redis }: Pick<UsedDatabase, 'opened' | 'redis'>) => {
  const recorder = createRecorder({
    ...{ redis, opened, now: Date.now, timeZone: 'UTC', keepRecordsDays: 90, keepSumsDays: 400 },
    ...{ everyMs: NEVER_MS, onBroken: () => undefined, report: () => undefined },
  });
  onTestFinished(() => recorder[Symbol.asyncDispose]());
  return recorder;
};
const storeOf = ({ database, redis }: Pick<UsedDatabase, 'database' | 'redis'>) =>
  createUsageStore({ database, redis, now: Date.now, onBroken: () => undefined });
const requestsIn = async (store: UsageStore) => {
  const range = { fromMs: Date.now() - HOUR_MS, toMs: Date.now() + HOUR_MS };
  return (await store.sums({ ...range, groupBy: [], only: {} })).at(0)?.sums.requests;
};
const total = (used: Pick<UsedDatabase, 'database' | 'redis'>) => requestsIn(storeOf(used));

/** How a database is made to refuse what is written, and to take it again, for connections that are open. */
interface Refusal {
  readonly name: string;
  readonly reason: string;
  readonly begin: string;
  readonly end: string;
}

/** SQLite's own limit of a file's size is what a full disk is to it; PostgreSQL says what it says of a full disk. */
const REFUSALS: Readonly<Record<UsedDatabase['dialect'], readonly Refusal[]>> = {
  sqlite: [
    {
      ...{ name: 'is full', reason: 'database or disk is full' },
      ...{ begin: 'pragma max_page_count = 1', end: 'pragma max_page_count = 1000000' },
    },
    {
      ...{ name: 'is read-only', reason: 'attempt to write a readonly database' },
      ...{ begin: 'pragma query_only = on', end: 'pragma query_only = off' },
    },
  ],
  postgres: [
    {
      ...{ name: 'is full', reason: 'No space left on device' },
      begin: `create function refuse() returns trigger language plpgsql as $$
        begin raise exception 'could not extend file "base/1/2": No space left on device' using errcode = '53100'; end $$;
        create trigger refuse before insert on usage_records for each statement execute function refuse()`,
      end: 'drop trigger refuse on usage_records; drop function refuse()',
    },
    {
      ...{ name: 'is read-only', reason: 'in a read-only transaction' },
      begin: `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
      end: `set transaction read write;
        do $$ begin execute format('alter database %I reset default_transaction_read_only', current_database()); end $$`,
    },
  ],
};

/** SQLite's limits are of a connection; a PostgreSQL that is read-only has taken over from another one, whose connections have ended. */
async function run({ database, dialect, settings }: UsedDatabase, sql: string): Promise<void> {
  if (dialect === 'sqlite') {
    await database.read(({ query }) => query(sql));
    return;
  }
  await using other = openPostgres(settings.DATABASE_URL ?? '');
  await other.write(({ query }) => query(sql));
  await other.read(({ query }) =>
    query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    ),
  );
}

onBothDatabases((used) => {
  test.for(REFUSALS[used.dialect])(
    'while the database $name usage waits and can be looked at, and is counted once afterwards',
    async ({ reason, begin, end }) => {
      const recorder = recorderOf(used);
      await append(used.redis, sampleRecord('before'));
      await recorder.round();
      await run(used, begin);
      for (let n = 1; n < REQUESTS; n += 1) await append(used.redis, sampleRecord(`req_${n}`));
      // The first one of a PostgreSQL finds its connection ended.
      await recorder.round();
      await recorder.round();
      expect(recorder.trouble()?.reason).toContain(reason);
      expect(await total(used)).toBe(REQUESTS);

      await run(used, end);
      await recorder.round();
      await recorder.round();
      expect(recorder.trouble()).toBeNull();
      expect(await total(used)).toBe(REQUESTS);
    },
  );
});

const postgres = useDatabase('postgres', { serverOfItsOwn: true });

test('a start on a PostgreSQL that is read-only is refused with its reason, and a process that is started again waits for it', async () => {
  const [readOnly] = REFUSALS.postgres.filter(({ name }) => name === 'is read-only');
  const url = postgres.settings.DATABASE_URL ?? '';
  await run(postgres, readOnly?.begin ?? '');
  await expect(checkDatabase(url)).rejects.toThrow(
    'cannot be used: cannot execute CREATE TABLE in a read-only transaction. Start or repair it, or correct the URL.',
  );
  const opened = await openDatabase(postgres.settings);
  onTestFinished(() => opened.database[Symbol.asyncDispose]());
  expect(opened.isPrepared).toBe(false);
  await run(postgres, readOnly?.end ?? '');
  const recorder = recorderOf({ opened, redis: postgres.redis });
  await append(postgres.redis, sampleRecord('one'));
  await recorder.round();
  await recorder.round();
  expect(await total(postgres)).toBe(1);
});

test('a PostgreSQL that stands still is told to who asks, and works on as if nothing had been', async () => {
  const recorder = recorderOf(postgres);
  await append(postgres.redis, sampleRecord('before'));
  await recorder.round();
  await using database = openPostgres(postgres.settings.DATABASE_URL ?? '', 200);
  const impatient = storeOf({ database, redis: postgres.redis });
  expect(await requestsIn(impatient)).toBe(1);
  await postgres.postgres.freeze(true);
  await append(postgres.redis, sampleRecord('meanwhile'));
  const round = recorder.round();
  await expect(requestsIn(impatient)).rejects.toMatchObject({
    ...{ code: 'service_unavailable', message: expect.stringContaining('The database does not answer') },
  });
  await postgres.postgres.freeze(false);
  await round;
  await recorder.round();
  expect(recorder.trouble()).toBeNull();
  expect(await total(postgres)).toBe(2);
});
