import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openDatabase } from '@gateway/records/database/open-database';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import { runCommand } from './run-command.ts';

/** Runs a command without any service; what it prints, and its exit code. */
async function run(argv: readonly string[], env: Record<string, string>) {
  const printed: string[] = [];
  const print = (text: string) => void printed.push(text);
  const code = await runCommand({
    ...{ argv, env, now: Date.now, userName: 'tester', print, printError: print },
    fetch: () => Promise.reject(new Error('no service')),
    write: () => Promise.resolve(),
  });
  return [code, printed.join('\n')];
}

test('the database is backed up and restored from the command line', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.close);
  const env = { GATEWAY_DATA_DIR: join(folder.path, 'data') };
  const file = join(folder.path, 'backup.db');
  expect(await run(['backup', file], env)).toEqual([
    1,
    `There is no database ${folder.path}/data/gateway.db. Set GATEWAY_DATA_DIR to the gateway's data folder.`,
  ]);
  await mkdir(env.GATEWAY_DATA_DIR);
  const { database } = await openDatabase(env);
  await database[Symbol.asyncDispose]();
  expect(await run(['backup', file], env)).toEqual([0, `The database is backed up to ${file}.`]);
  expect(await run(['restore', file], env)).toEqual([
    0,
    `The database is restored from ${file}. What was there before is kept beside it, as gateway.db.replaced.`,
  ]);
  const empty = { GATEWAY_DATA_DIR: join(folder.path, 'another machine') };
  await mkdir(empty.GATEWAY_DATA_DIR);
  expect(await run(['restore', file], empty)).toEqual([0, `The database is restored from ${file}.`]);
  expect(await run(['backup'], env)).toEqual([
    2,
    'Missing argument: backup FILE\nSee npm run gateway -- --help',
  ]);
  const postgres = { ...env, DATABASE_URL: 'postgres://gateway:hush@127.0.0.1/gateway' };
  expect(await run(['restore', file], postgres)).toEqual([
    1,
    'The database is the PostgreSQL of DATABASE_URL. Use its own tools: pg_restore.',
  ]);
});
