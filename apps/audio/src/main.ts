import { openAssetStore } from '@gateway/jobs/asset-store';
import type { SettleJob } from '@gateway/jobs/job-metering';
import { createJobQueue } from '@gateway/jobs/job-queue';
import { openUploadStore } from '@gateway/jobs/upload-store';
import { openMeter } from '@gateway/metering/meter/open-meter';
import { createRequestRedis } from '@gateway/metering/request-redis';
import { connectRedis } from '@gateway/service-kit/connect-redis';
import { createIdentityVerifier } from '@gateway/service-kit/identity-token';
import { createRequestLog } from '@gateway/service-kit/request-log';
import { startService } from '@gateway/service-kit/start-service';
import { openUpstream } from '@gateway/upstream/open-upstream';
import { createAudioApp } from './app.ts';
import { AudioConfig } from './config.ts';

const options = { service: 'audio', settings: AudioConfig, process };

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
  const settle: SettleJob = (subject, result) => meter.resume(subject).settle(result);
  const queue = life.own(
    await createJobQueue({
      redisUrl: config.REDIS_URL,
      kinds: ['audio.transcription'],
      maxWaiting: config.QUEUE_MAX_WAITING,
      uploads,
      assets,
      settle,
      now: Date.now,
      onError: (error) => logger.warn({ err: error }, 'the queue'),
    }),
    (open) => open.close(),
  );
  life.readiness.check('queue', () => queue.isReady());
  const app = createAudioApp({
    readiness: life.readiness,
    metrics,
    requestLog: createRequestLog({ logger, metrics }),
    verifyIdentity: createIdentityVerifier({ secret: config.GATEWAY_SECRET, now: Date.now }),
    deadline: life.deadline,
    upstream,
    queue,
    meter,
    uploads,
    jsonMaxBytes: config.JSON_MAX_BYTES,
    maxJsonDepth: config.MAX_JSON_DEPTH,
    fileMaxBytes: config.AUDIO_FILE_MAX_BYTES,
    now: Date.now,
  });
  await life.listen(app, { port: config.AUDIO_PORT, host: config.HOST, portSetting: 'AUDIO_PORT' });
});
