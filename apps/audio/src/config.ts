import { JobQueueSettings, JobWorkerSettings, ModelServiceSettings } from '@gateway/model-service/settings';
import { setting } from '@gateway/service-kit/config';
import { z } from 'zod';

const MEBIBYTE = 1024 * 1024;
const MINUTE_MS = 60_000;

/**
 * What the audio service reads wherever it runs. Without `ASSETS_URL`, `GATEWAY_DATA_DIR` holds uploads too until their job
 * ends: the service and its workers share it.
 */
export const AudioSettings = ModelServiceSettings.extend({
  ...JobQueueSettings.shape,
  /** Silence in an event stream after which a comment is sent; 0 for never. */
  AUDIO_KEEP_ALIVE_MS: setting.integer(4_000),
  JSON_MAX_BYTES: setting.integer(32 * MEBIBYTE, { min: 1 }),
  AUDIO_FILE_MAX_BYTES: setting.integer(25 * MEBIBYTE, { min: 1 }),
  /** Realtime sessions that this process holds open at a time, and those of one key. */
  AUDIO_REALTIME_MAX_SESSIONS: setting.integer(1000, { min: 1 }),
  AUDIO_REALTIME_MAX_SESSIONS_PER_KEY: setting.integer(50, { min: 1 }),
  /** The largest event of either side. */
  AUDIO_REALTIME_MAX_EVENT_BYTES: setting.integer(16 * MEBIBYTE, { min: 1024 }),
  /** How long a session may last, and how long nothing may happen in it. */
  AUDIO_REALTIME_LIFE_MS: setting.integer(60 * MINUTE_MS, { min: 10 }),
  AUDIO_REALTIME_IDLE_MS: setting.integer(15 * MINUTE_MS, { min: 10 }),
  /** How often each caller gets a ping, and its key is looked up again; after three pings without an answer it is gone. */
  AUDIO_REALTIME_PING_MS: setting.integer(15_000, { min: 10 }),
  /** How long a provider may take to report what a response has used that was broken off. */
  AUDIO_REALTIME_SETTLE_MS: setting.integer(5_000, { min: 1 }),
});
export type AudioSettings = z.infer<typeof AudioSettings>;

/** What it reads as a process of its own. */
export const AudioConfig = AudioSettings.extend({ AUDIO_PORT: setting.port(8083) });

/** What the audio worker reads wherever it runs. */
export const AudioWorkerSettings = JobWorkerSettings.extend({
  /** Splits recordings that no channel takes whole: a path, or a name that is looked up on the PATH. */
  FFMPEG_PATH: z.string().default('ffmpeg'),
  /** The longest recording that is split. */
  AUDIO_SPLIT_MAX_SECONDS: setting.integer(6 * 3600, { min: 1 }),
  /** Parts of one recording that are sent at a time. */
  AUDIO_PARTS_AT_ONCE: setting.integer(4, { min: 1, max: 64 }),
});
export type AudioWorkerSettings = z.infer<typeof AudioWorkerSettings>;

export const AudioWorkerConfig = AudioWorkerSettings.extend({
  /** For `/healthz`, `/readyz` and `/metrics`; 0 lets the system choose. */
  AUDIO_WORKER_METRICS_PORT: setting.port(0),
});
export type AudioWorkerConfig = z.infer<typeof AudioWorkerConfig>;
