/** `npm run bench:usage`: how long the console's pages wait for the database. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { openDatabase } from '@gateway/records/database/open-database';
import { createUsageStore } from '@gateway/records/usage/usage-store';
import { ensureRedisServer } from '@gateway/redis-server/ensure-redis-server';
import { runRedisServer } from '@gateway/redis-server/run-redis-server';
import { Redis } from 'ioredis';
import { table } from '../table.ts';
import { fillDatabase } from './fill-database.ts';
import { pagesOf } from './pages.ts';

const DAYS = 90;
const EVERY = 100_000;
const ROUNDS = 5;

const { values } = parseArgs({
  options: {
    /** How many records are made; none where the database has them already. */
    records: { type: 'string', default: '5000000' },
    /** An empty PostgreSQL; SQLite in a temporary folder if left out. */
    'database-url': { type: 'string' },
    /** Where SQLite's file is kept, to be measured again with `--records 0`. */
    folder: { type: 'string' },
  },
});
const print = (text: string) => process.stdout.write(`${text}\n`);
const count = Number(values.records);

await using cleanup = new AsyncDisposableStack();
const folder = values.folder ?? (await mkdtemp(join(tmpdir(), 'gateway-bench-usage-')));
if (values.folder === undefined) cleanup.defer(() => rm(folder, { recursive: true, force: true }));
const { command } = await ensureRedisServer(() => undefined);
const server = await runRedisServer({ command, folder: join(folder, 'redis'), durability: 'none' });
cleanup.defer(() => server.stop());
const redis = new Redis(server.url);
cleanup.defer(() => redis.disconnect());
const { database } = await openDatabase({
  GATEWAY_DATA_DIR: folder,
  DATABASE_URL: values['database-url'],
});
cleanup.use(database);

if (count > 0) {
  const beganMs = performance.now();
  const progress = (written: number) => {
    if (written % EVERY < 50_000)
      print(`${written} records, ${Math.round((performance.now() - beganMs) / 1000)} s`);
  };
  await fillDatabase(database, { count, days: DAYS, now: Date.now, progress });
}
if (database.dialect === 'sqlite')
  print(`gateway.db: ${Math.round((await stat(join(folder, 'gateway.db'))).size / 1024 ** 2)} MB`);

const store = createUsageStore({ database, redis, now: Date.now, onBroken: () => undefined });
const rows = [];
// A file that was filled some days ago has nothing of today.
const newest = { fromMs: 0, toMs: Date.now(), after: undefined, limit: 1, only: {}, idPart: undefined };
const [last] = (await store.newest(newest)).records;
for (const { name, ask } of pagesOf(store, (last?.startedAtMs ?? Date.now()) + 60_000)) {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const beganMs = performance.now();
    await ask();
    times.push(performance.now() - beganMs);
  }
  rows.push([name, `${Math.round(times[0] ?? 0)} ms`, `${Math.round(Math.min(...times.slice(1)))} ms`]);
}
print(table([['page', 'first', 'best of the next four'], ...rows]));
