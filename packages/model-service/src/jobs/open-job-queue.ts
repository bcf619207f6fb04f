import type { JobKind } from '@gateway/contracts/jobs';
import { type AssetStore, openAssetStore } from '@gateway/jobs/asset-store';
import { createJobQueue, type JobQueue } from '@gateway/jobs/job-queue';
import { openUploadStore, type UploadStore } from '@gateway/jobs/upload-store';
import type { Started } from '@gateway/service-kit/start-service';
import type { ModelAccess } from '../open-model-access.ts';
import type { ModelSettings } from '../settings.ts';
import { openAnnouncer } from '../webhooks/open-announcer.ts';

type QueueSettings = ModelSettings & { readonly QUEUE_MAX_WAITING: number };

/** The queue of a service's kinds of jobs, and where their files lie; the process's life closes it. */
export async function openJobQueue<Kind extends JobKind>(
  started: Started<QueueSettings>,
  { meter }: Pick<ModelAccess, 'meter'>,
  kinds: readonly Kind[],
): Promise<{ queue: JobQueue<Kind>; uploads: UploadStore; assets: AssetStore }> {
  const { config, life, logger } = started;
  const uploads = await openUploadStore(config.GATEWAY_DATA_DIR);
  const assets = await openAssetStore(config.GATEWAY_DATA_DIR);
  const queue = life.own(
    await createJobQueue({
      redisUrl: config.REDIS_URL,
      kinds,
      maxWaiting: config.QUEUE_MAX_WAITING,
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
