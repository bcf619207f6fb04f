import type { AnnounceEnd } from '@gateway/jobs/announce-end';
import { connectPatiently } from '@gateway/jobs/job-connections';
import { oncePerOutage } from '@gateway/jobs/once-per-outage';
import { createWebhookLog } from '@gateway/jobs/webhooks/webhook-log';
import { reportOnce } from '@gateway/metering/broken-records';
import { createKeyWebhookReader } from '@gateway/metering/keys/key-webhook';
import type { Started } from '@gateway/service-kit/start-service';
import type { ModelSettings } from '../settings.ts';

/** Queues the webhooks of ended jobs, where their request or their key names a receiver. Waits for a Redis that is away. */
export async function openAnnouncer({
  config,
  life,
  logger,
  metrics,
}: Started<ModelSettings>): Promise<AnnounceEnd> {
  const onError = oncePerOutage((error) => logger.warn({ err: error }, 'webhooks'));
  const redis = life.own(await connectPatiently(config.REDIS_URL, onError), (opened) => opened.disconnect());
  const log = createWebhookLog(redis, onError);
  const readWebhook = createKeyWebhookReader({
    redis,
    onBroken: reportOnce((broken) => {
      logger.warn(broken, 'a stored record cannot be read and is left out');
      metrics.brokenRecord(broken.kind);
    }),
  });
  return async (notice) => {
    if (notice.url !== null || typeof (await readWebhook(notice.keyId))?.url === 'string')
      await log.add(notice);
  };
}
