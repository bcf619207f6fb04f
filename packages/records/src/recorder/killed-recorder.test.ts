import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { COMPILE_CACHE } from '@gateway/testkit/compile-cache';
import { isLongRun } from '@gateway/testkit/is-long-run';
import { expect, test } from 'vitest';
import { append, sampleRecord } from '../testing/sample-records.ts';
import { onBothDatabases } from '../testing/use-database.ts';
import { createUsageStore } from '../usage/usage-store.ts';

const run = promisify(execFile);
const CHILD = new URL('../testing/killed-recorder.ts', import.meta.url).pathname;
/** Steps beyond the last one: the recorder has ended by itself. */
const MAX_STEPS = 80;
const RECORDS_OF_A_STEP = 3;
/** Each step takes the start of a process: a short run leaves some out, each database others. */
const EVERY = isLongRun ? 1 : 5;

onBothDatabases((used) => {
  test('a recorder that is killed at any step leaves nothing out and counts nothing twice', async () => {
    const { redis, redisUrl, settings } = used;
    const store = createUsageStore({
      database: used.database,
      redis,
      now: Date.now,
      onBroken: () => undefined,
    });
    const range = { fromMs: Date.now() - 1000, toMs: Date.now() + 3_600_000 };
    let appended = 0;
    let hasEnded = false;
    for (let killAt = used.dialect === 'sqlite' ? 1 : 3; !hasEnded; killAt += EVERY) {
      expect(killAt).toBeLessThan(MAX_STEPS + EVERY);
      for (let n = 0; n < RECORDS_OF_A_STEP; n += 1) await append(redis, sampleRecord(`req_${++appended}`));
      const args = [CHILD, redisUrl, settings.GATEWAY_DATA_DIR, settings.DATABASE_URL ?? '', String(killAt)];
      hasEnded = await run(process.execPath, args, { env: COMPILE_CACHE }).then(
        () => true,
        (error: { signal?: string; stderr?: string }) => {
          expect(error.signal, error.stderr).toBe('SIGKILL');
          return false;
        },
      );
      // At each step what is asked is what has happened, recorded or not.
      const [row] = await store.sums({ ...range, groupBy: [], only: {} });
      expect(row?.sums).toMatchObject({ requests: appended, costMicroUsd: appended * 10 });
    }
    const ids: string[] = [];
    for await (const { id } of store.all(range)) ids.push(id);
    expect(ids).toEqual(Array.from({ length: appended }, (_, n) => `req_${n + 1}`));
  });
});
