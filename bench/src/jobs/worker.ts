import process from 'node:process';
import { openJobStores } from '@gateway/jobs/files/job-stores';
import { createJobWorker } from '@gateway/jobs/worker/job-worker';
import { liveBytes } from './live-bytes.ts';

// A worker whose jobs cost nothing but the queue. Arguments: the Redis URL, the data folder.

const [redisUrl = '', dataDir = ''] = process.argv.slice(2);

/** Says when it began, by a clock that processes share. */
const run = async () => ({
  created: 0,
  images: [],
  members: { begunAtMs: performance.timeOrigin + performance.now() },
  dropped: [],
  channel: 'none',
  upstreamAttempts: 1,
  costMicroUsd: null,
});

const { uploads, assets } = await openJobStores({ dataDir });
await createJobWorker({
  redisUrl,
  processors: { 'image.generation': { run }, 'image.edit': { run } },
  concurrency: 8,
  uploads,
  assets,
  onFinished: () => undefined,
  onError: () => undefined,
});
process.on('message', () => process.send?.(liveBytes()));
process.send?.('ready');
