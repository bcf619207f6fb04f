import { JobQueueSettings, JobWorkerSettings, ModelServiceSettings } from '@gateway/model-service/settings';
import { setting } from '@gateway/service-kit/config';
import type { z } from 'zod';

const MEBIBYTE = 1024 * 1024;

/**
 * What the audio service reads wherever it runs. Without `ASSETS_URL`, `GATEWAY_DATA_DIR` holds uploads too until their job
 * ends: the service and its workers share it.
 */
export const AudioSettings = ModelServiceSettings.extend({
  ...JobQueueSettings.shape,
  JSON_MAX_BYTES: setting.integer(32 * MEBIBYTE, { min: 1 }),
  AUDIO_FILE_MAX_BYTES: setting.integer(25 * MEBIBYTE, { min: 1 }),
});
export type AudioSettings = z.infer<typeof AudioSettings>;

/** What it reads as a process of its own. */
export const AudioConfig = AudioSettings.extend({ AUDIO_PORT: setting.port(8083) });

export const AudioWorkerConfig = JobWorkerSettings.extend({
  /** For `/healthz`, `/readyz` and `/metrics`; 0 lets the system choose. */
  AUDIO_WORKER_METRICS_PORT: setting.port(0),
});
export type AudioWorkerConfig = z.infer<typeof AudioWorkerConfig>;
