import { MeterSettings, ProcessSettings, setting } from '@gateway/service-kit/config';
import { z } from 'zod';

const MEBIBYTE = 1024 * 1024;

/** What the audio service and its worker both read. */
const AudioSettings = ProcessSettings.extend(MeterSettings.shape).extend({
  REDIS_URL: setting.redisUrl(),
  /** The configuration of channels and models. */
  GATEWAY_CONFIG: z.string().default('gateway.yaml'),
  /** Uploads lie here until their job ends; the service and its workers share it. */
  GATEWAY_DATA_DIR: z.string().default('.data'),
});

export const AudioConfig = AudioSettings.extend({
  AUDIO_PORT: setting.port(8083),
  GATEWAY_SECRET: setting.secret(),
  /** Jobs that may wait before callers are refused. */
  QUEUE_MAX_WAITING: setting.integer(1000, { min: 1 }),
  JSON_MAX_BYTES: setting.integer(32 * MEBIBYTE, { min: 1 }),
  MAX_JSON_DEPTH: setting.jsonDepth(),
  AUDIO_FILE_MAX_BYTES: setting.integer(25 * MEBIBYTE, { min: 1 }),
});
export type AudioConfig = z.infer<typeof AudioConfig>;

export const AudioWorkerConfig = AudioSettings.extend({
  /** For `/healthz`, `/readyz` and `/metrics`; 0 lets the system choose. */
  AUDIO_WORKER_METRICS_PORT: setting.port(0),
  /** Jobs that this process runs at a time. */
  WORKER_CONCURRENCY: setting.integer(8, { min: 1 }),
});
export type AudioWorkerConfig = z.infer<typeof AudioWorkerConfig>;
