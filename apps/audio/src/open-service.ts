import { openTextChecks } from '@gateway/hooks/text-checks';
import {
  batchProcessors,
  openBatchRunner,
  openIdentityReader,
} from '@gateway/model-service/batch/open-batch-runner';
import { createJobMetrics } from '@gateway/model-service/jobs/job-metrics';
import { openJobQueue } from '@gateway/model-service/jobs/open-job-queue';
import { openModelAccess } from '@gateway/model-service/open-model-access';
import { serviceAppOptions } from '@gateway/model-service/service-app-options';
import type { Service } from '@gateway/service-kit/service-app';
import type { Started } from '@gateway/service-kit/start-service';
import { createAudioService } from './app.ts';
import { audioBatches } from './audio-batches.ts';
import type { AudioService } from './audio-service.ts';
import type { AudioSettings } from './config.ts';

/** Opens the audio service; the process's life closes what it takes. */
export async function openAudioService(started: Started<AudioSettings>): Promise<Service> {
  const { config } = started;
  const access = await openModelAccess(started);
  const jobs = await openJobQueue(started, access, ['audio.transcription', 'audio.speech', 'audio.batch']);
  const service: AudioService = {
    ...access,
    ...jobs,
    checks: openTextChecks(started, access, 'speech'),
    jsonMaxBytes: config.JSON_MAX_BYTES,
    keepAliveMs: config.AUDIO_KEEP_ALIVE_MS,
    maxJsonDepth: config.MAX_JSON_DEPTH,
    fileMaxBytes: config.AUDIO_FILE_MAX_BYTES,
    jobMetrics: createJobMetrics(started.metrics),
    readIdentity: openIdentityReader(started, access),
    now: Date.now,
  };
  await openBatchRunner(started, service, batchProcessors(audioBatches(service)));
  return createAudioService({ ...serviceAppOptions(started, access), ...service });
}
