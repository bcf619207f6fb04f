import {
  FetchSettings,
  FileSettings,
  JobQueueSettings,
  JobWorkerSettings,
  ModelServiceSettings,
  ModelSettings,
} from '@gateway/model-service/settings';
import { setting } from '@gateway/service-kit/config';
import type { z } from 'zod';

const MINUTE_MS = 60_000;
const HOUR_SECONDS = 3600;
const MEBIBYTE = 1024 * 1024;
const DAY_SECONDS = 86_400;

/** What the service and its worker read, which answer requests in the same way. */
const SharedSettings = ModelSettings.extend({
  ...FileSettings.shape,
  ...FetchSettings.shape,
  /** Seals what must survive its way through a client; the service verifies identities by it as well. */
  GATEWAY_SECRET: setting.secret(),
  /** The largest request body, in bytes. */
  TEXT_MAX_BODY_BYTES: setting.integer(32 * 1024 * 1024, { min: 1024 }),
  MAX_JSON_DEPTH: setting.jsonDepth(),
  /** How long the channel of a response is remembered, so that it can be read or continued. */
  TEXT_RESPONSE_TTL_SECONDS: setting.integer(30 * DAY_SECONDS, { min: 1 }),
  /** How often background responses of providers that are due are looked at; also until each is looked at for the first time. */
  TEXT_BACKGROUND_POLL_MS: setting.integer(2000, { min: 10 }),
  /** A background response of a provider that has not ended after this time is booked as estimated. */
  TEXT_BACKGROUND_GIVE_UP_SECONDS: setting.integer(DAY_SECONDS, { min: 1 }),
  /** How long the events of a background response can be read again after its end, and one that could not be stored. */
  TEXT_BACKGROUND_EVENTS_SECONDS: setting.integer(HOUR_SECONDS, { min: 1 }),
  /** Lines that a batch may have. */
  TEXT_BATCH_MAX_LINES: setting.integer(50_000, { min: 1 }),
});
export type SharedSettings = z.infer<typeof SharedSettings>;

/** What the text service reads wherever it runs. */
export const TextSettings = ModelServiceSettings.extend({
  ...SharedSettings.shape,
  ...JobQueueSettings.shape,
  /** Silence in a stream after which a frame without content is sent; 0 for never. */
  TEXT_KEEP_ALIVE_MS: setting.integer(4_000),
  /** How often the client of each WebSocket gets a ping; after three without an answer it is gone. */
  TEXT_WEBSOCKET_PING_MS: setting.integer(15_000, { min: 10 }),
  /** How long a WebSocket may be idle. */
  TEXT_WEBSOCKET_IDLE_MS: setting.integer(30 * MINUTE_MS, { min: 10 }),
  /** How long a message over a WebSocket may take to arrive, from its first byte to its last. */
  TEXT_WEBSOCKET_MESSAGE_MS: setting.integer(2 * MINUTE_MS, { min: 10 }),
  /** How long a WebSocket takes new requests. */
  TEXT_WEBSOCKET_LIFE_MS: setting.integer(60 * MINUTE_MS, { min: 10 }),
  /** The largest file of a batch's lines, in bytes. */
  TEXT_FILE_MAX_BYTES: setting.integer(200 * MEBIBYTE, { min: 1024 }),
  /** Bytes of files that are kept for a key. */
  TEXT_FILE_BYTES_PER_KEY: setting.integer(10 * 1024 * MEBIBYTE, { min: 1 }),
});
export type TextSettings = z.infer<typeof TextSettings>;

/** What it reads as a process of its own. */
export const TextConfig = TextSettings.extend({ TEXT_PORT: setting.port(8081) });

/** What its worker reads wherever it runs. */
export const TextWorkerSettings = JobWorkerSettings.extend({
  ...SharedSettings.shape,
  /** Background responses that one process generates at a time. They wait for providers most of the time. */
  TEXT_WORKER_CONCURRENCY: setting.integer(64, { min: 1 }),
  /** Lines of batches that one process has at work at a time. */
  TEXT_BATCH_CONCURRENCY: setting.integer(16, { min: 1 }),
});
export type TextWorkerSettings = z.infer<typeof TextWorkerSettings>;

/** What it reads as a process of its own. */
export const TextWorkerConfig = TextWorkerSettings.extend({
  /** For `/healthz`, `/readyz` and `/metrics`; 0 lets the system choose. */
  TEXT_WORKER_METRICS_PORT: setting.port(0),
});
