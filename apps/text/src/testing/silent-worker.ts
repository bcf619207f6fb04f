import { NOTHING_CONSUMED, type UsageResult } from '@gateway/contracts/usage/usage-record';
import { openJobStores } from '@gateway/jobs/files/job-stores';
import { createJobWorker } from '@gateway/jobs/worker/job-worker';
import { Redis } from 'ioredis';
import { createBackgroundResponses } from '../background/background-responses.ts';
import { responseIdOf } from '../endpoints/background/response-id.ts';

// A worker process that takes background responses and ends none, for a test to kill.
// Arguments: the Redis URL, the data folder, and how far it comes: `taken`; `begun`, where a provider may have been called; or
// `ended`, where the response has its end and the job has not.

const [redisUrl = '', dataDir = '', state = ''] = process.argv.slice(2);
const redis = new Redis(redisUrl);
const responses = createBackgroundResponses({ redis, ttlSeconds: 60, eventsTtlSeconds: 60 });

const USAGE: UsageResult = {
  outcome: 'ok',
  channel: 'messages',
  attempts: 1,
  durationMs: 1,
  firstByteMs: null,
  consumption: { ...NOTHING_CONSUMED, outputTokens: 7 },
  estimated: false,
  costMicroUsd: 7000,
};

async function end(id: string): Promise<void> {
  const response = { id, object: 'response', status: 'completed', output: [] };
  await responses.end(id, { status: 'completed', response, usage: USAGE, headers: {}, events: [] });
}

const { uploads, assets } = await openJobStores({ dataDir });
await createJobWorker({
  redisUrl,
  processors: {
    'text.response': {
      run: async (_input, { jobId }) => {
        const id = responseIdOf(jobId);
        if (state !== 'taken') await responses.begin(id);
        if (state === 'ended') await end(id);
        process.send?.(state);
        return new Promise(() => setInterval(() => undefined, 1000));
      },
    },
  },
  concurrency: 1,
  uploads,
  assets,
  onFinished: () => undefined,
  onError: () => undefined,
  takeover: { lockMs: 500, checkMs: 250 },
});
