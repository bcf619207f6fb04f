import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { Database } from './database.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations.ts';
import { openDatabase } from './open-database.ts';
import { backUp, restore } from './sqlite-backup.ts';

const Facts = z.array(z.object({ name: z.string() }));

async function dataFolder() {
  const folder = await temporaryFolder();
  onTestFinished(folder.close);
  const data = join(folder.path, 'data');
  await mkdir(data);
  const open = async (): Promise<Database> => (await openDatabase({ GATEWAY_DATA_DIR: data })).database;
  return { settings: { GATEWAY_DATA_DIR: data }, data, file: join(folder.path, 'backup.db'), open };
}

const write = (database: Database, name: string) =>
  database.write(({ query }) => query("insert into recorder_facts (name, value) values ($1, '')", [name]));
const names = async (database: Database) =>
  Facts.parse(
    await database.read(({ query }) =>
      query("select name from recorder_facts where value = '' order by name"),
    ),
  ).map(({ name }) => name);

test('a backup of a database in use holds what was written before it, and is restored when nobody uses it', async () => {
  const { settings, data, file, open } = await dataFolder();
  const used = await open();
  await write(used, 'before');
  await backUp(settings, file);
  await write(used, 'after');
  expect((await stat(file)).mode & 0o077).toBe(0);
  await expect(restore(settings, file)).rejects.toThrow(
    `A gateway is using the database ${data}/gateway.db. Stop it, and restore then.`,
  );
  expect(await names(used)).toEqual(['after', 'before']);
  await used[Symbol.asyncDispose]();

  await restore(settings, file);
  await using restored = await open();
  expect(await names(restored)).toEqual(['before']);
  await write(restored, 'again');
  expect(await readdir(data)).toContain('gateway.db.replaced');
});

test('a backup takes the place of a database that is gone, or cannot be read', async () => {
  const { settings, data, file, open } = await dataFolder();
  const used = await open();
  await write(used, 'before');
  await used[Symbol.asyncDispose]();
  await backUp(settings, file);
  for (const name of ['gateway.db', 'gateway.db-wal'])
    await writeFile(join(data, name), 'torn '.repeat(2000));
  await restore(settings, file);
  await using restored = await open();
  expect(await names(restored)).toEqual(['before']);

  const other = await dataFolder();
  await restore(other.settings, file);
  await using fresh = await other.open();
  expect(await names(fresh)).toEqual(['before']);
});

test('what is no backup, or of a newer gateway, is refused and changes nothing', async () => {
  const { settings, data, file, open } = await dataFolder();
  const used = await open();
  await write(used, 'before');
  await used[Symbol.asyncDispose]();
  await writeFile(file, 'a letter');
  await expect(restore(settings, file)).rejects.toThrow(`${file} is no backup of a gateway's database (`);

  const newer = await dataFolder();
  const future = await newer.open();
  await migrate(future, [...MIGRATIONS, () => ['create table of_the_future (id bigint)']]);
  await future[Symbol.asyncDispose]();
  await backUp(newer.settings, newer.file);
  await expect(restore(settings, newer.file)).rejects.toThrow(
    `${newer.file} is of a newer gateway: it has version ${MIGRATIONS.length + 1} of the schema`,
  );
  await expect(backUp(settings, file)).rejects.toThrow(`The file ${file} cannot be made (EEXIST`);
  const postgres = { ...settings, DATABASE_URL: 'postgres://gateway:hush@127.0.0.1/gateway' };
  await expect(backUp(postgres, `${file}.new`)).rejects.toThrow(
    'The database is the PostgreSQL of DATABASE_URL. Use its own tools: pg_dump.',
  );
  expect(await readdir(data)).toEqual(['gateway.db']);
  await using same = await open();
  expect(await names(same)).toEqual(['before']);
});
