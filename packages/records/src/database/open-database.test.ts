import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@gateway/testkit/free-port';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import { onBothDatabases, useDatabase } from '../testing/use-database.ts';
import { QueryError } from './database.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations.ts';
import { checkDatabase, openDatabase } from './open-database.ts';

onBothDatabases((used) => {
  test('several processes that start at the same time make one schema', async () => {
    const opened = await Promise.all(Array.from({ length: 4 }, () => openDatabase(used.settings)));
    for (const { database, isPrepared, prepare } of opened) {
      // Those before it may have taken longer than it waits.
      if (!isPrepared) await prepare();
      await database[Symbol.asyncDispose]();
    }
    const versions = await used.database.read(({ query }) => query('select version from schema_version'));
    expect(versions).toEqual([{ version: MIGRATIONS.length }]);
  });

  test('a database from a newer gateway is not touched', async () => {
    const newer = [...MIGRATIONS, () => ['create table of_the_future (id bigint)']];
    await migrate(used.database, newer);
    await expect(openDatabase(used.settings)).rejects.toThrow(
      `The database has version ${newer.length} of the schema, from a newer gateway; this one knows version ${MIGRATIONS.length}.`,
    );
  });

  test('a migration that fails in the middle leaves nothing behind', async () => {
    const broken = [...MIGRATIONS, () => ['create table half (id bigint)', 'create table half (id bigint)']];
    await expect(migrate(used.database, broken)).rejects.toThrow(QueryError);
    await migrate(used.database, [...MIGRATIONS, () => ['create table half (id bigint)']]);
  });

  test('a transaction is written whole or not at all, and reads see one moment', async () => {
    const { database } = used;
    await database.write(({ query }) => query('create table numbers (n bigint)'));
    const failing = database.write(async ({ query }) => {
      await query('insert into numbers (n) values ($1), ($2)', [1, 2]);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    await database.write(({ query }) =>
      query('insert into numbers (n) values ($2), ($1), ($2)', [3, 2 ** 52]),
    );
    expect(
      await database.read(({ query }) => query('select n, null as missing from numbers order by n')),
    ).toEqual([
      { n: 3, missing: null },
      { n: 2 ** 52, missing: null },
      { n: 2 ** 52, missing: null },
    ]);
    await expect(database.read(({ query }) => query('select n from nowhere'))).rejects.toMatchObject({
      name: 'QueryError',
    });
  });

  test('queries that one transaction asks at once get their own answers, and none is left over for the next', async () => {
    const { database } = used;
    const asked = database.read(({ query }) =>
      Promise.all([1, 2, 3].map((n) => query('select cast($1 as integer) as n', [n]))),
    );
    expect(await asked).toEqual([[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]]);
    const failing = database.read(({ query }) =>
      Promise.all([query('select n from nowhere'), query('select 4 as n')]),
    );
    const next = database.read(({ query }) => query('select 5 as n'));
    await expect(failing).rejects.toMatchObject({ name: 'QueryError' });
    expect(await next).toEqual([{ n: 5 }]);
  });
});

const failure = (open: Promise<unknown>) =>
  open.then(
    () => '',
    (error: Error) => `${error.name}: ${error.message}`,
  );

const postgres = useDatabase('postgres');
const databaseUrl = () => postgres.settings.DATABASE_URL ?? '';

test('a PostgreSQL that refuses the gateway is named in one sentence, without the password', async () => {
  const url = new URL(databaseUrl());
  url.password = 'wrong-password';
  expect(await failure(openDatabase({ GATEWAY_DATA_DIR: '', DATABASE_URL: url.href }))).toBe(
    `ConfigError: The PostgreSQL at ${url.host}${url.pathname} (DATABASE_URL) refuses the gateway: password authentication failed for user "gateway". Correct the user, the password or the name of the database in DATABASE_URL.`,
  );
  const other = new URL(databaseUrl());
  other.pathname = '/nothing';
  expect(await failure(openDatabase({ GATEWAY_DATA_DIR: '', DATABASE_URL: other.href }))).toContain(
    'refuses the gateway: database "nothing" does not exist. Correct',
  );
});

test('a PostgreSQL that is too old is named with its version', async () => {
  const { host, pathname } = new URL(databaseUrl());
  const needed = 1000;
  expect(await failure(openDatabase({ GATEWAY_DATA_DIR: '', DATABASE_URL: databaseUrl() }, needed))).toMatch(
    new RegExp(
      `^ConfigError: The PostgreSQL at ${host}${pathname} \\(DATABASE_URL\\) has version \\S+.*; ${needed} or newer is needed\\. Upgrade it, or set DATABASE_URL to another one\\.$`,
    ),
  );
});

test('a PostgreSQL that does not answer stops a start, and not a process that is started again', async () => {
  const url = `postgres://gateway:secret@127.0.0.1:${await freePort()}/gateway`;
  const { database, isPrepared } = await openDatabase({ GATEWAY_DATA_DIR: '', DATABASE_URL: url });
  onTestFinished(() => database[Symbol.asyncDispose]());
  expect(isPrepared).toBe(false);
  const found = await failure(checkDatabase(url));
  expect(found).toMatch(
    /^ConfigError: The PostgreSQL at 127\.0\.0\.1:\d+\/gateway \(DATABASE_URL\) cannot be used: .*ECONNREFUSED.*Start or repair it, or correct the URL\.$/,
  );
  expect(found).not.toContain('secret');
});

test("the file of SQLite is its user's alone, with all that lies beside it", async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.close);
  const { database } = await openDatabase({ GATEWAY_DATA_DIR: folder.path });
  const names = await readdir(folder.path);
  expect(names).toContain('gateway.db');
  for (const name of names) expect((await stat(join(folder.path, name))).mode & 0o077, name).toBe(0);
  await database[Symbol.asyncDispose]();
});

test('a file that is no database stops the start with its path', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.close);
  await writeFile(join(folder.path, 'gateway.db'), 'this is a letter, and no database\n'.repeat(100));
  expect(await failure(openDatabase({ GATEWAY_DATA_DIR: folder.path }))).toContain(
    `ConfigError: The database ${folder.path}/gateway.db cannot be used (file is not a database).`,
  );
});
