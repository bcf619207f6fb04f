import { createWebhookWorker, type FinishedAttempt } from '@gateway/jobs/webhooks/webhook-worker';
import { reportOnce } from '@gateway/metering/broken-records';
import { createKeyWebhookReader } from '@gateway/metering/keys/webhooks/key-webhook';
import type { Started } from '@gateway/service-kit/start-service';
import { environmentNetwork } from '@gateway/upstream/connecting/network';
import type { Redis } from 'ioredis';
import { Counter } from 'prom-client';
import type { JobWorkerSettings } from '../settings.ts';
import { writeWebhook } from '../tracing/job-spans.ts';
import { createWebhookSender } from './webhook-sender.ts';

/** Opens the sending of webhooks in a worker's process: each attempt ends with one log line. */
export async function openWebhookWorker(
  { config, env, life, logger, metrics, tracing }: Started<JobWorkerSettings>,
  redis: Redis,
): Promise<void> {
  const onBroken = reportOnce((broken) => {
    logger.warn(broken, 'skipping a stored record that cannot be read');
    metrics.brokenRecord(broken.kind);
  });
  const sender = life.own(
    createWebhookSender({
      readWebhook: createKeyWebhookReader({ redis, onBroken }),
      masterSecret: config.WEBHOOK_SECRET,
      isPrivateAllowed: config.WEBHOOK_PRIVATE_NETWORKS,
      network: environmentNetwork(env),
      now: Date.now,
    }),
    (opened) => opened.close(),
  );
  const attempts = new Counter({
    name: 'gateway_webhook_attempts_total',
    help: 'Attempts to send webhooks: delivered (2xx), failed (to be retried), refused (not to be retried)',
    labelNames: ['outcome'],
    registers: [metrics.registry],
  });
  const onAttempt = (attempt: FinishedAttempt) => {
    attempts.inc({ outcome: resultOf(attempt) });
    const line = attemptLine(attempt);
    writeWebhook(tracing, attempt);
    if (attempt.outcome.error === null) logger.info(line, 'webhook delivered');
    else logger.warn(line, 'webhook not delivered');
  };
  life.own(
    await createWebhookWorker({
      redisUrl: config.REDIS_URL,
      send: sender.send,
      onAttempt,
      onError: (error) => logger.warn({ err: error }, 'webhooks'),
    }),
    (opened) => opened.close({ drainTimeoutMs: config.DRAIN_TIMEOUT_MS }),
  );
}

function resultOf({ outcome }: FinishedAttempt): 'delivered' | 'failed' | 'refused' {
  if (outcome.error === null) return 'delivered';
  return outcome.isFinal ? 'refused' : 'failed';
}

/** Only the host of its address: a path or a query may contain a secret. */
const attemptLine = (attempt: FinishedAttempt) => {
  const { outcome, traceparent: _, ...line } = attempt;
  return {
    ...line,
    outcome: resultOf(attempt),
    host: outcome.url === null ? undefined : new URL(outcome.url).host,
    status: outcome.status ?? undefined,
    'error.cause': outcome.error ?? undefined,
  };
};
