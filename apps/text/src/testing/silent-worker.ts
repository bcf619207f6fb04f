import { openAssetStore } from '@gateway/jobs/asset-store';
import { createJobWorker } from '@gateway/jobs/job-worker';
import { openUploadStore } from '@gateway/jobs/upload-store';
import { Redis } from 'ioredis';
import { createBackgroundResponses } from '../background/background-responses.ts';
import { responseIdOf } from '../endpoints/background/response-id.ts';

// A worker process that takes background responses and ends none, for a test to kill.
// Arguments: the Redis URL, the data folder, and how far it comes: `taken`, or `begun` where a provider may have been called.

const [redisUrl = '', dataDir = '', state = ''] = process.argv.slice(2);
const redis = new Redis(redisUrl);
const responses = createBackgroundResponses({ redis, ttlSeconds: 60, eventsTtlSeconds: 60 });

await createJobWorker({
  redisUrl,
  acts: {
    'text.response': {
      run: async (_input, { jobId }) => {
        if (state === 'begun') await responses.begin(responseIdOf(jobId));
        process.send?.(state);
        return new Promise(() => setInterval(() => undefined, 1000));
      },
    },
  },
  concurrency: 1,
  uploads: await openUploadStore(dataDir),
  assets: await openAssetStore(dataDir),
  onFinished: () => undefined,
  onError: () => undefined,
  takeover: { lockMs: 500, checkMs: 250 },
});
