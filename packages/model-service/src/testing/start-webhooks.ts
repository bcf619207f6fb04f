import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { openJobStores } from '@gateway/jobs/files/job-stores';
import { images } from '@gateway/jobs/fixtures/job-stage';
import { createJobQueue } from '@gateway/jobs/queue/job-queue';
import { createJobFinder } from '@gateway/jobs/records/find-job';
import { createKeptResults } from '@gateway/jobs/results/kept-results';
import type { AnnounceEnd } from '@gateway/jobs/webhooks/announce-end';
import { createWebhookLog } from '@gateway/jobs/webhooks/webhook-log';
import { createWebhookWorker, type FinishedAttempt } from '@gateway/jobs/webhooks/webhook-worker';
import { createJobWorker } from '@gateway/jobs/worker/job-worker';
import { createKeyWebhookReader } from '@gateway/metering/keys/webhooks/key-webhook';
import { keysInRedis } from '@gateway/metering/testing/records-in-redis';
import { startRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { DIRECT } from '@gateway/upstream/connecting/network';
import { parseNetworks } from '@gateway/upstream/fetching/public-address';
import { Redis } from 'ioredis';
import { webhookBody } from '../webhooks/open-announcer.ts';
import { createWebhookSender } from '../webhooks/webhook-sender.ts';

export interface ReceivedWebhook {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Answer = (response: ServerResponse) => void;

/** A receiver of webhooks with prepared answers: each request gets the next one, later ones the last. */
export async function startReceiver(...answers: Answer[]) {
  const received: ReceivedWebhook[] = [];
  const server = createServer((request, response) => {
    text(request).then(
      (body) => {
        received.push({ headers: request.headers, body });
        answers[Math.min(received.length, answers.length) - 1]?.(response);
      },
      () => undefined,
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('not listening');
  return {
    url: `http://127.0.0.1:${address.port}/hook`,
    port: address.port,
    received,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface SendingOptions {
  /** Networks besides public addresses; this machine if left out. */
  readonly networks?: string | null;
  readonly retryDelaysMs?: readonly number[];
  readonly timeLimitMs?: number;
}

/** Keys, a queue with a worker, and what sends their webhooks, on a Redis of their own. */
export async function startWebhooks() {
  const resources = new AsyncDisposableStack();
  const redisServer = resources.adopt(await startRedis(), (owned) => owned.close());
  const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
  const redis = resources.adopt(new Redis(redisServer.url), (owned) => owned.disconnect());
  const { uploads, assets } = await openJobStores({ dataDir: folder.path });
  const results = createKeptResults({ redis, assets, now: Date.now });
  const masterSecret = 'a webhook secret of more than 32 characters';
  const keys = keysInRedis({
    redis,
    gatewaySecret: 'a gateway secret of more than 32 characters',
    webhookSecret: masterSecret,
    now: Date.now,
  });
  const readWebhook = createKeyWebhookReader({ redis, onBroken: () => undefined });
  const onError = () => undefined;
  const log = createWebhookLog(redis, onError);
  const find = createJobFinder({ redis, queues: [], files: { uploads, assets }, results });
  const announce: AnnounceEnd = async (notice) => {
    const record = await find(notice.jobId);
    if (record !== undefined) await log.add(notice, await webhookBody(record));
  };
  const common = { redisUrl: redisServer.url, uploads, assets, announce, onError };
  const queue = resources.adopt(
    await createJobQueue({
      ...common,
      kinds: ['image.generation'] as const,
      maxWaiting: 1000,
      maxResultBytes: Number.POSITIVE_INFINITY,
      now: Date.now,
    }),
    (owned) => owned.close(),
  );
  const by = { who: 'test', requestId: null };
  const attempts: FinishedAttempt[] = [];
  return {
    redis,
    keys,
    log,
    queue,
    attempts,
    /** A key with a webhook's secret, and a URL if there is one. */
    makeKey: async (webhookUrl?: string) => {
      const { record } = await keys.createKey({ name: 'hooked', ...(webhookUrl && { webhookUrl }) }, by);
      const rotated = await keys.rotateWebhookSecret(record.id, 0, by);
      if (rotated === undefined) throw new Error('no such key');
      return { keyId: record.id, secret: rotated.secret };
    },
    rotate: (keyId: string, graceSeconds: number) => keys.rotateWebhookSecret(keyId, graceSeconds, by),
    /** @param run what the jobs do */
    startJobs: async (run: () => Promise<typeof images> = async () => images) => {
      const worker = await createJobWorker({
        ...common,
        processors: { 'image.generation': { run }, 'image.edit': { run } },
        concurrency: 4,
        onFinished: () => undefined,
      });
      resources.defer(() => worker.close({ drainTimeoutMs: 0 }));
    },
    startSending: async ({
      networks = '127.0.0.0/8',
      retryDelaysMs = [5],
      timeLimitMs,
    }: SendingOptions = {}) => {
      const sender = resources.adopt(
        createWebhookSender({
          network: DIRECT,
          readWebhook,
          masterSecret,
          isPrivateAllowed: networks === null ? undefined : parseNetworks(networks),
          now: Date.now,
          ...(timeLimitMs && { timeLimitMs }),
        }),
        (owned) => owned.close(),
      );
      const worker = await createWebhookWorker({
        redisUrl: redisServer.url,
        onError,
        send: sender.send,
        onAttempt: (attempt) => attempts.push(attempt),
        retryDelaysMs,
      });
      resources.defer(() => worker.close({ drainTimeoutMs: 0 }));
    },
    close: () => resources.disposeAsync(),
  };
}
