import type { JobWebhook } from '@gateway/contracts/webhooks';
import type { JobFiles } from '@gateway/jobs/files/job-files';
import { createJobFinder, type FoundJob } from '@gateway/jobs/records/find-job';
import { createKeptResults } from '@gateway/jobs/results/kept-results';
import type { AnnounceEnd } from '@gateway/jobs/webhooks/announce-end';
import { createWebhookLog } from '@gateway/jobs/webhooks/webhook-log';
import { reportOnce } from '@gateway/metering/broken-records';
import { createKeyWebhookReader } from '@gateway/metering/keys/webhooks/key-webhook';
import { oncePerOutage } from '@gateway/redis/once-per-outage';
import { openRedis } from '@gateway/redis/open-redis';
import type { Started } from '@gateway/service-kit/start-service';
import { publicJob } from '../jobs/public-job.ts';
import type { ModelSettings } from '../settings.ts';

/** The longest error message of a webhook. Some providers' messages are longer; the job itself has the whole message. */
const MAX_MESSAGE_CHARACTERS = 1000;

const typeOf = ({ status }: FoundJob): JobWebhook['type'] => {
  if (status === 'completed') return 'job.completed';
  return status === 'cancelled' ? 'job.cancelled' : 'job.failed';
};

/** The body of the webhook for a job's end: the job, as it is polled. Its result is fetched with the key. */
export async function webhookBody(record: FoundJob): Promise<string> {
  const job = await publicJob({ positionOf: async () => undefined }, record);
  const { message } = job.error ?? {};
  const error =
    job.error !== null && typeof message === 'string'
      ? { ...job.error, message: message.slice(0, MAX_MESSAGE_CHARACTERS) }
      : job.error;
  const timestamp = new Date(record.finishedAtMs ?? record.createdAtMs).toISOString();
  const body: JobWebhook = { type: typeOf(record), timestamp, data: { ...job, error } };
  return JSON.stringify(body);
}

/**
 * Queues the webhooks of ended jobs, if their request or their key names a receiver. Waits for a Redis that
 * is away.
 *
 * @param files where long errors of these jobs lie; the process that sends the webhook may not have them
 */
export async function openAnnouncer(
  { config, life, logger, metrics }: Started<ModelSettings>,
  files: JobFiles,
): Promise<AnnounceEnd> {
  const onError = oncePerOutage((error) => logger.warn({ err: error }, 'webhooks'));
  const redis = life.own(await openRedis(config.REDIS_URL, 'worker', onError), (opened) =>
    opened.disconnect(),
  );
  const log = createWebhookLog(redis, onError);
  const results = createKeptResults({ redis, assets: files.assets, now: Date.now });
  const find = createJobFinder({ redis, queues: [], files, results });
  const readWebhook = createKeyWebhookReader({
    redis,
    onBroken: reportOnce((broken) => {
      logger.warn(broken, 'skipping a stored record that cannot be read');
      metrics.brokenRecord(broken.kind);
    }),
  });
  return async (notice) => {
    const url = notice.url ?? (await readWebhook(notice.keyId))?.url;
    const record = typeof url === 'string' ? await find(notice.jobId) : undefined;
    if (record !== undefined) await log.add(notice, await webhookBody(record));
  };
}
