import { MeterSettings, ProcessSettings, setting } from '@gateway/service-kit/config';
import { z } from 'zod';

const MEBIBYTE = 1024 * 1024;

/** What the image service and its worker both read. */
const ImageSettings = ProcessSettings.extend(MeterSettings.shape).extend({
  REDIS_URL: setting.redisUrl(),
  /** The configuration of channels and models. */
  GATEWAY_CONFIG: z.string().default('gateway.yaml'),
  /** Images and uploads lie here; the service and its workers share it. */
  GATEWAY_DATA_DIR: z.string().default('.data'),
});

export const ImageConfig = ImageSettings.extend({
  IMAGE_PORT: setting.port(8082),
  /** Verifies identities and signs image URLs. */
  GATEWAY_SECRET: setting.secret(),
  /** Base of the image URLs: where callers reach the edge. Absent: `PORT` on this machine. */
  PUBLIC_URL: setting.url().optional(),
  /** The edge's. */
  PORT: setting.port(8080),
  /** Jobs that may wait before callers are refused. */
  QUEUE_MAX_WAITING: setting.integer(1000, { min: 1 }),
  /** Smaller than elsewhere, since a waiting request lies in Redis. */
  IMAGE_JSON_MAX_BYTES: setting.integer(2 * MEBIBYTE, { min: 1 }),
  MAX_JSON_DEPTH: setting.jsonDepth(),
});
export type ImageConfig = z.infer<typeof ImageConfig>;

export const ImageWorkerConfig = ImageSettings.extend({
  /** For `/healthz`, `/readyz` and `/metrics`; 0 lets the system choose. */
  IMAGE_WORKER_METRICS_PORT: setting.port(0),
  /** Jobs that this process runs at a time. */
  WORKER_CONCURRENCY: setting.integer(8, { min: 1 }),
});
export type ImageWorkerConfig = z.infer<typeof ImageWorkerConfig>;
