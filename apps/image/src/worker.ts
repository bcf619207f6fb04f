import { openAssetStore } from '@gateway/jobs/asset-store';
import { createJobWorker } from '@gateway/jobs/job-worker';
import { startSweeping } from '@gateway/jobs/start-sweeping';
import { openUploadStore } from '@gateway/jobs/upload-store';
import { openMeter } from '@gateway/metering/meter/open-meter';
import { createRequestRedis } from '@gateway/metering/request-redis';
import { connectRedis } from '@gateway/service-kit/connect-redis';
import { mountHealth, mountMetrics } from '@gateway/service-kit/ops';
import { startService } from '@gateway/service-kit/start-service';
import { openUpstream } from '@gateway/upstream/open-upstream';
import express from 'express';
import { ImageWorkerConfig } from './config.ts';
import { logJob } from './log-job.ts';
import { imageActs } from './making/make-images.ts';

const options = { service: 'image-worker', settings: ImageWorkerConfig, process };

await startService(options, async ({ config, life, logger, metrics }) => {
  const { upstream } = life.own(
    await openUpstream({
      path: config.GATEWAY_CONFIG,
      env: process.env,
      logger,
      onAttempt: metrics.attempt,
    }),
    (open) => open.close(),
  );
  const uploads = await openUploadStore(config.GATEWAY_DATA_DIR);
  const assets = await openAssetStore(config.GATEWAY_DATA_DIR);
  const onError = (error: unknown) => logger.warn({ err: error }, 'the queue');
  life.own(startSweeping({ assets, uploads, now: Date.now, onError }), (sweeping) => sweeping.close());
  const redis = life.own(createRequestRedis(config.REDIS_URL), (open) => open.disconnect());
  await connectRedis(redis, life);
  const meter = life.own(
    await openMeter({
      redis,
      settings: config,
      metrics,
      now: Date.now,
      report: (problem) => logger.warn(problem, 'metering'),
    }),
    (open) => open.close(),
  );
  const worker = life.own(
    await createJobWorker({
      redisUrl: config.REDIS_URL,
      acts: imageActs({ upstream, assets, uploads, now: Date.now }),
      concurrency: config.WORKER_CONCURRENCY,
      uploads,
      assets,
      settle: (subject, result) => meter.resume(subject).settle(result),
      onFinished: (job) => logJob(job, { logger, metrics }),
      onError,
    }),
    (open) => open.close({ drainTimeoutMs: config.DRAIN_TIMEOUT_MS }),
  );
  life.readiness.check('queue', () => worker.isReady());
  const ops = express();
  mountHealth(ops, life.readiness, { tellMissing: true });
  mountMetrics(ops, metrics);
  await life.listen(ops, {
    port: config.IMAGE_WORKER_METRICS_PORT,
    host: config.HOST,
    portSetting: 'IMAGE_WORKER_METRICS_PORT',
  });
});
