import { waitFor } from '@gateway/testkit/wait-for';
import { expect, test } from 'vitest';
import { openDatabase } from '../database/open-database.ts';
import { append, sampleRecord } from '../testing/sample-records.ts';
import { useDatabase } from '../testing/use-database.ts';
import { createUsageStore } from '../usage/usage-store.ts';
import { createRecorder } from './recorder.ts';

const used = useDatabase('postgres', { serverOfItsOwn: true });

test('while the database is away usage waits, whoever asks is told so, and it is complete when it is back', async () => {
  const { redis, postgres } = used;
  await postgres.kill();
  const opened = await openDatabase(used.settings);
  const { database } = opened;
  await using recorder = createRecorder({
    ...{ redis, opened, now: Date.now, timeZone: 'UTC', keepRecordsDays: 90, keepSumsDays: 400, everyMs: 50 },
    ...{ onBroken: () => undefined, report: () => undefined },
  });
  const store = createUsageStore({ database, redis, now: Date.now, onBroken: () => undefined });
  const range = { fromMs: Date.now() - 1000, toMs: Date.now() + 1000 };
  const sums = () => store.sums({ ...range, groupBy: [], only: {} });
  for (let n = 0; n < 20; n += 1) await append(redis, sampleRecord(`req_${n}`));
  await waitFor(() => recorder.trouble() !== null);
  expect(recorder.trouble()?.reason).toContain('ECONNREFUSED');
  await expect(sums()).rejects.toMatchObject({ code: 'service_unavailable' });

  await postgres.restart();
  await waitFor(() => recorder.trouble() === null, { timeoutMs: 30_000 });
  expect((await sums())[0]?.sums.requests).toBe(20);
  const untilMs = recorder.recordedUntilMs() ?? 0;
  expect(untilMs).toBeGreaterThan(range.fromMs);

  // Lost in the middle of its work, with connections open.
  await postgres.kill();
  await append(redis, sampleRecord('later'));
  await waitFor(() => recorder.trouble() !== null, { timeoutMs: 30_000 });
  const stuckMs = recorder.recordedUntilMs();
  await recorder.round();
  expect(recorder.recordedUntilMs()).toBe(stuckMs);
  await postgres.restart();
  await waitFor(() => recorder.trouble() === null, { timeoutMs: 30_000 });
  expect((await sums())[0]?.sums.requests).toBe(21);
  expect(recorder.recordedUntilMs()).toBeGreaterThan(untilMs);
  await database[Symbol.asyncDispose]();
});
