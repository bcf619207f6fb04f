import type { SettleJob } from '@gateway/jobs/job-metering';
import { createJobQueue } from '@gateway/jobs/job-queue';
import { openUploadStore } from '@gateway/jobs/upload-store';
import { createIdentityVerifier } from '@gateway/service-kit/identity-token';
import { createRequestLog } from '@gateway/service-kit/request-log';
import { startService } from '@gateway/service-kit/start-service';
import { openUpstream } from '@gateway/upstream/open-upstream';
import { createAudioApp } from './app.ts';
import { AudioConfig } from './config.ts';
import { openProcessMeter } from './open-meter.ts';

const options = { service: 'audio', settings: AudioConfig, process };

await startService(options, async ({ config, life, logger, metrics }) => {
  const { upstream } = life.own(
    await openUpstream({ path: config.GATEWAY_CONFIG, env: process.env, logger }),
    (open) => open.close(),
  );
  const uploads = await openUploadStore(config.GATEWAY_DATA_DIR);
  const meter = await openProcessMeter(config, life);
  const settle: SettleJob = (subject, result) => meter.resume(subject).settle(result);
  const queue = life.own(
    await createJobQueue({
      redisUrl: config.REDIS_URL,
      kinds: ['audio.transcription'],
      maxWaiting: config.QUEUE_MAX_WAITING,
      uploads,
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
    fileMaxBytes: config.AUDIO_FILE_MAX_BYTES,
    now: Date.now,
  });
  await life.listen(app, { port: config.AUDIO_PORT, host: config.HOST, portSetting: 'AUDIO_PORT' });
});
