import {
  FetchSettings,
  JobQueueSettings,
  JobWorkerSettings,
  ModelServiceSettings,
} from '@gateway/model-service/settings';
import { setting } from '@gateway/service-kit/config';
import type { z } from 'zod';

const MEBIBYTE = 1024 * 1024;

/**
 * What the image service reads wherever it runs. Without `ASSETS_URL`, `GATEWAY_DATA_DIR` holds images and uploads too: the
 * service and its workers share it.
 */
export const ImageSettings = ModelServiceSettings.extend({
  ...JobQueueSettings.shape,
  ...FetchSettings.shape,
  /** The edge's, on this machine: image URLs begin with it without `PUBLIC_URL`. */
  PORT: setting.port(8080),
  /** Smaller than elsewhere, since a waiting request lies in Redis. */
  IMAGE_JSON_MAX_BYTES: setting.integer(2 * MEBIBYTE, { min: 1 }),
  /** Of an edit in JSON, whose images may be data URLs in it. */
  IMAGE_EDIT_JSON_MAX_BYTES: setting.integer(32 * MEBIBYTE, { min: 1 }),
  /** Silence in a stream after which a comment is sent; 0 for never. */
  IMAGE_KEEP_ALIVE_MS: setting.integer(4_000),
});
export type ImageSettings = z.infer<typeof ImageSettings>;

/** What it reads as a process of its own. */
export const ImageConfig = ImageSettings.extend({ IMAGE_PORT: setting.port(8082) });

export const ImageWorkerConfig = JobWorkerSettings.extend({
  /** For `/healthz`, `/readyz` and `/metrics`; 0 lets the system choose. */
  IMAGE_WORKER_METRICS_PORT: setting.port(0),
});
export type ImageWorkerConfig = z.infer<typeof ImageWorkerConfig>;
