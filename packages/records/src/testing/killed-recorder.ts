import { Redis } from 'ioredis';
import type { Database, Queries } from '../database/database.ts';
import { openDatabase } from '../database/open-database.ts';
import { createRecorder } from '../recorder/recorder.ts';

// A recorder that kills its process before its n-th step: a query that writes, a commit, the trim of a stream. It ends after the trim.

const [, , redisUrl = '', dataFolder = '', databaseUrl = '', killAt = ''] = process.argv;
let steps = 0;

function step(): void {
  steps += 1;
  if (steps === Number(killAt)) process.kill(process.pid, 'SIGKILL');
}

const counted = ({ query }: Queries): Queries => ({
  query: (sql, values) => {
    step();
    return query(sql, values);
  },
});

const countedDatabase = (database: Database): Database => ({
  dialect: database.dialect,
  read: (work) => database.read(work),
  write: (work) =>
    database.write(async (queries) => {
      const result = await work(counted(queries));
      step();
      return result;
    }),
  [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
});

const redis = new Redis(redisUrl);
const sendCommand = redis.sendCommand.bind(redis);
redis.sendCommand = (command, ...rest) => {
  if (command.name !== 'xtrim') return sendCommand(command, ...rest);
  step();
  process.exit(0);
};
const opened = await openDatabase({ GATEWAY_DATA_DIR: dataFolder, DATABASE_URL: databaseUrl || undefined });
const recorder = createRecorder({
  redis,
  opened: { ...opened, database: countedDatabase(opened.database) },
  // The lease of the one that was killed has ended.
  now: () => Date.now() + Number(killAt) * 120_000,
  ...{ timeZone: 'UTC', keepRecordsDays: 2, keepSumsDays: 2, everyMs: 1_000_000_000 },
  ...{ onBroken: () => undefined, report: () => undefined },
});
await recorder.round();
process.exit(1);
