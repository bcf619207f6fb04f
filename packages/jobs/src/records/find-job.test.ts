import { openRedis } from '@gateway/redis/open-redis';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, test } from 'vitest';
import { openJobStores } from '../files/job-stores.ts';
import { newJobId } from '../redis/job-keys.ts';
import { createKeptResults } from '../results/kept-results.ts';
import { keepRecord } from './ended-jobs.ts';
import { createJobFinder } from './find-job.ts';

test('a job that ends and leaves its queue while it is looked for is found', async () => {
  await using resources = new AsyncDisposableStack();
  const server = resources.adopt(await startRedis(), (owned) => owned.close());
  const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
  const redis = resources.adopt(await openRedis(server.url, 'queue', () => undefined), (opened) =>
    opened.disconnect(),
  );
  const files = await openJobStores({ dataDir: folder.path });
  const results = createKeptResults({ redis, assets: files.assets, now: Date.now });
  const id = newJobId();
  const times = { createdAtMs: 1, startedAtMs: 2, finishedAtMs: 3 };
  const about = { id, kind: 'image.generation', keyId: 'key_1', model: 'dall-e-3' } as const;
  const endsNow = {
    getJob: async () => {
      await keepRecord(redis, { ...about, ...times, status: 'completed', error: null }, null);
      return undefined;
    },
  };
  const find = createJobFinder({ redis, queues: [endsNow], files, results });
  expect(await find(id)).toMatchObject({ id, status: 'completed' });
});
