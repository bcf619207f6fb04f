import { isAssetsUrl } from '@gateway/assets/open-asset-stores';
import { LoadSettings, MeterSettings, ProcessSettings, setting } from '@gateway/service-kit/config';
import { ConfigurationSourceSetting } from '@gateway/upstream/configuration/stored/configuration-source-setting';
import { PrivateNetworks } from '@gateway/upstream/fetching/public-address';
import { z } from 'zod';

const MEBIBYTE = 1024 * 1024;

/** What every process that calls providers reads. */
export const ModelSettings = ProcessSettings.extend(MeterSettings.shape).extend({
  REDIS_URL: setting.redisUrl(),
  /** The configuration of channels and models. */
  GATEWAY_CONFIG: z.string().default('gateway.yaml'),
  CONFIGURATION_SOURCE: ConfigurationSourceSetting,
  /** Opens what is sealed in a configuration that the database has. */
  GATEWAY_SECRET: setting.secret().optional(),
  /** Teams that have samples of their own in the metrics; 0: none has. */
  METRICS_TEAMS: setting.integer(0, { min: 0, max: 1000 }),
});
export type ModelSettings = z.infer<typeof ModelSettings>;

/** What every service reads that has the edge before it. */
export const ModelServiceSettings = ModelSettings.extend(LoadSettings.shape).extend({
  /** Verifies the identities that the edge signs. */
  GATEWAY_SECRET: setting.secret(),
  MAX_JSON_DEPTH: setting.jsonDepth(),
});
export type ModelServiceSettings = z.infer<typeof ModelServiceSettings>;

/** Where jobs' files lie. Services and workers of one kind have the same. */
export const FileSettings = z.object({
  /** `s3://bucket/prefix`, or a folder. Absent: `GATEWAY_DATA_DIR`, which they share then. */
  ASSETS_URL: z.string().refine(isAssetsUrl, 'must be s3://bucket/prefix or a folder').optional(),
  /** The same for the content log alone, whose objects of every service the admin service reads in one place. Absent: as `ASSETS_URL`. */
  CONTENT_LOG_URL: z.string().refine(isAssetsUrl, 'must be s3://bucket/prefix or a folder').optional(),
  /** Where callers reach the S3 store: images are then fetched from there. Absent: from the gateway. */
  ASSETS_PUBLIC_ENDPOINT: setting.url().optional(),
  /** Where an S3 store listens that is not Amazon's. */
  AWS_ENDPOINT_URL_S3: setting.url().optional(),
  AWS_ENDPOINT_URL: setting.url().optional(),
  /** The S3 store's. Absent: from the AWS files, or `us-east-1` at a store that is not Amazon's. */
  AWS_REGION: z.string().optional(),
});
export type FileSettings = z.infer<typeof FileSettings>;

/** How what callers name by URL is fetched for them. */
export const FetchSettings = z.object({
  /** Origins that may be connected to though their addresses are private. */
  IMAGE_FETCH_PRIVATE_ORIGINS: setting.origins(),
  /** For all that one request names together. */
  IMAGE_FETCH_TIMEOUT_MS: setting.integer(60_000, { min: 1 }),
});
export type FetchSettings = z.infer<typeof FetchSettings>;

const GIBIBYTE = 1024 ** 3;

/** What every service reads that queues jobs. */
export const JobQueueSettings = FileSettings.extend({
  /** Where callers reach the edge, with the path below which a proxy has it: the addresses of images and jobs begin with it. */
  PUBLIC_URL: setting.url().optional(),
  /** Jobs that may wait before callers are refused. */
  QUEUE_MAX_WAITING: setting.integer(1000, { min: 1 }),
  /** Bytes of results that are kept for a key which has no limit of its own. */
  RESULT_BYTES_PER_KEY: setting.integer(10 * GIBIBYTE, { min: 1 }),
});
export type JobQueueSettings = z.infer<typeof JobQueueSettings>;

/** What every worker reads. */
export const JobWorkerSettings = ModelSettings.extend({
  ...FileSettings.shape,
  /** Jobs that this process runs at a time. */
  WORKER_CONCURRENCY: setting.integer(8, { min: 1 }),
  /** From which keys' webhook secrets are derived; the admin service has the same. Absent: no webhooks are sent. */
  WEBHOOK_SECRET: setting.secret().optional(),
  /** Where webhooks may go besides public addresses. */
  WEBHOOK_PRIVATE_NETWORKS: PrivateNetworks,
  /** What its jobs may hold in memory together, in bytes, as estimated before they begin. */
  WORKER_MAX_BYTES_IN_FLIGHT: setting.integer(256 * MEBIBYTE, { min: 1 }),
});
export type JobWorkerSettings = z.infer<typeof JobWorkerSettings>;
