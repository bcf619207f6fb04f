import { join } from 'node:path';
import { createOperationBatch } from '@gateway/metering/batch/operation-batch';
import { createAdmission } from '@gateway/metering/limits/admission';
import { createRequestEntry, type RequestEntry } from '@gateway/metering/limits/request-entry';
import type { Meter } from '@gateway/metering/meter/meter';
import { openMeter } from '@gateway/metering/meter/open-meter';
import { createRefusalCounts } from '@gateway/metering/usage/refusal-counts';
import { createRefusals, type Refusals } from '@gateway/metering/usage/refusals';
import { createRedis } from '@gateway/redis/open-redis';
import { connectRedis } from '@gateway/service-kit/life/connect-redis';
import type { RefusalReason } from '@gateway/service-kit/metrics';
import type { Started } from '@gateway/service-kit/start-service';
import { openUpstream } from '@gateway/upstream/open-upstream';
import type { Upstream } from '@gateway/upstream/upstream';
import type { Redis } from 'ioredis';
import type { ModelSettings } from './settings.ts';
import { createUpstreamMetrics, showRests, showSlots } from './upstream-metrics.ts';
import { createUsageMetrics } from './usage-metrics.ts';

/** What it takes to call a model for a caller and to account for it. */
export interface ModelAccess {
  readonly upstream: Upstream;
  readonly redis: Redis;
  readonly meter: Meter;
  /** Counts requests on their limits, in the same calls of Redis as the meter. */
  readonly entry: RequestEntry;
  /** Of requests that are refused before the meter knows what they would use. */
  readonly refusals: Refusals<RefusalReason>;
}

/**
 * Opens the configured providers, Redis and the meter; the process's life closes them.
 *
 * @throws {ConfigurationError} for a configuration with mistakes
 * @throws {ConfigError} where Redis does not answer
 */
export async function openModelAccess({
  config,
  env,
  life,
  logger,
  metrics,
}: Started<ModelSettings>): Promise<ModelAccess> {
  const redis = life.own(createRedis(config.REDIS_URL, 'request'), (opened) => opened.disconnect());
  const isStored = config.CONFIGURATION_SOURCE === 'database';
  const connect = () => connectRedis(redis, { logger, readiness: life.readiness, metrics });
  // Redis brings what the database has.
  if (isStored) await connect();
  const { upstream, follow } = life.own(
    await openUpstream({
      path: config.GATEWAY_CONFIG,
      env,
      stored: isStored ? await storedConfiguration({ config, env, redis, logger }) : undefined,
      logger,
      redis,
      ...createUpstreamMetrics(metrics),
    }),
    (opened) => opened.close(),
  );
  showSlots(metrics, upstream);
  if (!isStored) await connect();
  await follow();
  showRests(metrics, upstream);
  const { now } = Date;
  const keepSumsDays = config.USAGE_SUMS_DAYS;
  const counts = life.own(createRefusalCounts({ redis, now, keepSumsDays }), (opened) => opened.close());
  const batch = createOperationBatch({ redis });
  const admission = life.own(createAdmission({ redis, batch }), (opened) => opened.close());
  const meter = life.own(
    await openMeter({
      redis,
      batch,
      settings: config,
      metrics,
      refusals: counts,
      now,
      report: (problem) => logger.warn(problem, 'metering'),
      onSettled: createUsageMetrics(metrics, { maxTeams: config.METRICS_TEAMS }).settled,
    }),
    (opened) => opened.close(),
  );
  const entry = createRequestEntry({ admission, now });
  return { upstream, redis, meter, entry, refusals: createRefusals({ counts, metrics }) };
}

/** What reads it is loaded only where the database has the configuration. */
async function storedConfiguration({
  config,
  env,
  redis,
  logger,
}: Pick<Started<ModelSettings>, 'config' | 'env' | 'logger'> & { redis: Redis }) {
  const { createStoredConfiguration } = await import(
    '@gateway/upstream/configuration/stored/stored-configuration'
  );
  const stored = createStoredConfiguration({
    redis,
    env,
    gatewaySecret: config.GATEWAY_SECRET,
    copyPath: join(config.GATEWAY_DATA_DIR, 'configuration.json'),
    onProblem: (error) =>
      logger.warn({ err: error }, 'the configuration cannot be copied to the data folder'),
  });
  if ((await stored.read()) === null)
    logger.warn(
      { path: config.GATEWAY_CONFIG },
      'the database has published no configuration yet: until then the file is used, or the environment',
    );
  return stored;
}
