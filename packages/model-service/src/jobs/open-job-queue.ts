import type { AssetStore } from '@gateway/assets/asset-store';
import type { JobKind } from '@gateway/contracts/jobs';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import { createJobQueue, type JobQueue } from '@gateway/jobs/queue/job-queue';
import type { Started } from '@gateway/service-kit/start-service';
import type { ModelAccess } from '../open-model-access.ts';
import type { JobQueueSettings, ModelSettings } from '../settings.ts';
import { openAnnouncer } from '../webhooks/open-announcer.ts';
import { openFileStores } from './open-file-stores.ts';

/** The queue of a service's kinds of jobs, and where their files lie; the process's life closes it. */
export async function openJobQueue<Kind extends JobKind>(
  started: Started<ModelSettings & JobQueueSettings>,
  { meter }: Pick<ModelAccess, 'meter'>,
  kinds: readonly Kind[],
): Promise<{ queue: JobQueue<Kind>; uploads: UploadStore; assets: AssetStore }> {
  const { config, life, logger } = started;
  const { uploads, assets } = await openFileStores(started);
  const queue = life.own(
    await createJobQueue({
      redisUrl: config.REDIS_URL,
      kinds,
      publicPath: pathOf(config.PUBLIC_URL),
      maxWaiting: config.QUEUE_MAX_WAITING,
      maxResultBytes: config.RESULT_BYTES_PER_KEY,
      uploads,
      assets,
      settle: (subject, result) => meter.resume(subject).settle(result),
      announce: await openAnnouncer(started, { uploads, assets }),
      now: Date.now,
      onError: (error) => logger.warn({ err: error }, 'the queue'),
    }),
    (opened) => opened.close(),
  );
  life.readiness.check('queue', () => queue.isReady());
  return { queue, uploads, assets };
}

/** What a proxy puts before the gateway's paths. */
const pathOf = (publicUrl: string | undefined): string =>
  publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '');
