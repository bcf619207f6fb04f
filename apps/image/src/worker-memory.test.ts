import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openJobStores } from '@gateway/jobs/files/job-stores';
import { createJobQueue } from '@gateway/jobs/queue/job-queue';
import { startFlood } from '@gateway/testkit/start-flood';
import { startRedis } from '@gateway/testkit/start-redis';
import { startS3 } from '@gateway/testkit/start-s3';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { pngBytes } from './testing/image-files.ts';

const MEBIBYTE = 1024 * 1024;
const JOBS = 8;
const IMAGE_BYTES = 8 * MEBIBYTE;
const PeakMemory = z.object({ type: z.literal('peak memory'), bytes: z.number() });

/** A PNG of eight mebibytes: what follows the image itself is no concern of ours. */
const image = Buffer.concat([pngBytes(), Buffer.alloc(IMAGE_BYTES - pngBytes().length)]);
const entry = Buffer.from(`{"b64_json":"${image.toString('base64')}"},`);

async function startWorker(env: Record<string, string>): Promise<ChildProcess> {
  const reporting = new URL('./testing/report-peak-memory.ts', import.meta.url).href;
  const child = fork(new URL('./worker.ts', import.meta.url), {
    env,
    // As in the containers.
    execArgv: ['--max-semi-space-size=32', '--import', reporting],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

async function peakMemory(child: ChildProcess): Promise<number> {
  child.send('peak memory');
  const [message] = await once(child, 'message');
  return PeakMemory.parse(message).bytes;
}

test.for([
  ['ten', 'a folder', 10],
  // How many are at work at once is what counts, and the test's S3 server takes its time.
  ['three', 'an S3 store', 3],
] as const)(
  'eight jobs of %s images of 8 MB at once take a worker with %s less than 400 MB',
  async ([, store, count]) => {
    await using resources = new AsyncDisposableStack();
    const own = <T extends { close(): unknown }>(resource: T): T =>
      resources.adopt(resource, async (owned) => void (await owned.close()));
    const redis = own(await startRedis());
    const folder = own(await temporaryFolder());
    const s3 = own(await startS3());
    const provider = resources.use(
      await startFlood({
        contentType: 'application/json',
        head: '{"created":1,"data":[',
        piece: entry,
        count: count - 1,
        tail: `${entry.toString('latin1', 0, entry.length - 1)}]}`,
      }),
    );
    const config = join(folder.path, 'gateway.yaml');
    await writeFile(
      config,
      `
channels: { one: { provider: simulator, baseUrl: "${provider.url}" } }
models: { painter: { kind: image, family: gpt-image, routes: [{ channel: one }] } }
`,
    );
    const shared = store === 'a folder' ? {} : { ASSETS_URL: `s3://${s3.bucket}`, ...s3.environment };
    const worker = await startWorker({
      REDIS_URL: redis.url,
      GATEWAY_CONFIG: config,
      GATEWAY_DATA_DIR: join(folder.path, 'worker'),
      WORKER_CONCURRENCY: String(JOBS),
      // They are all to be at work: the bound on bytes would let them take turns.
      WORKER_MAX_BYTES_IN_FLIGHT: '10000000000',
      ...shared,
    });
    const { uploads, assets } =
      store === 'a folder'
        ? await openJobStores({ dataDir: join(folder.path, 'worker') })
        : await openJobStores({ dataDir: join(folder.path, 'here'), url: `s3://${s3.bucket}`, ...s3 });
    const queue = own(
      await createJobQueue({
        redisUrl: redis.url,
        kinds: ['image.generation'],
        maxWaiting: 100,
        maxResultBytes: 10_000_000_000,
        uploads,
        assets,
        now: Date.now,
        onError: () => undefined,
      }),
    );
    const input = { model: 'painter', parameters: {}, responseFormat: 'b64_json', strict: false } as const;
    const owner = { keyId: 'key_1', requestId: 'req_1' };
    const jobs = await Promise.all(
      Array.from({ length: JOBS }, () => queue.enqueue('image.generation', input, owner)),
    );
    const stay = new AbortController().signal;
    for (const job of jobs) {
      const { images } = await job.result(stay);
      expect(images.map(({ sizeBytes }) => sizeBytes)).toEqual(Array(count).fill(IMAGE_BYTES));
    }
    expect(await peakMemory(worker)).toBeLessThan(400 * MEBIBYTE);
  },
);
