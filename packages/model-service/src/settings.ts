import { MeterSettings, ProcessSettings, setting } from '@gateway/service-kit/config';
import { parseNetworks } from '@gateway/upstream/public-address';
import { z } from 'zod';

const MEBIBYTE = 1024 * 1024;

/** What every process that calls providers reads. */
export const ModelSettings = ProcessSettings.extend(MeterSettings.shape).extend({
  REDIS_URL: setting.redisUrl(),
  /** The configuration of channels and models. */
  GATEWAY_CONFIG: z.string().default('gateway.yaml'),
});
export type ModelSettings = z.infer<typeof ModelSettings>;

/** What every service reads that has the edge before it. */
export const ModelServiceSettings = ModelSettings.extend({
  /** Verifies the identities that the edge signs. */
  GATEWAY_SECRET: setting.secret(),
  MAX_JSON_DEPTH: setting.jsonDepth(),
});
export type ModelServiceSettings = z.infer<typeof ModelServiceSettings>;

/** What every worker reads. */
export const JobWorkerSettings = ModelSettings.extend({
  /** Jobs that this process runs at a time. */
  WORKER_CONCURRENCY: setting.integer(8, { min: 1 }),
  /** From which keys' webhook secrets are derived; the admin service has the same. Absent: no webhooks are sent. */
  WEBHOOK_SECRET: setting.secret().optional(),
  /** Where webhooks may go besides public addresses. */
  WEBHOOK_PRIVATE_NETWORKS: z
    .string()
    .refine(
      (text) => parseNetworks(text) !== undefined,
      'must be networks such as 10.1.0.0/16, separated by commas',
    )
    .transform(parseNetworks)
    .optional(),
  /** What its jobs may hold in memory together, in bytes, as estimated before they begin. */
  WORKER_MAX_BYTES_IN_FLIGHT: setting.integer(256 * MEBIBYTE, { min: 1 }),
});
export type JobWorkerSettings = z.infer<typeof JobWorkerSettings>;
