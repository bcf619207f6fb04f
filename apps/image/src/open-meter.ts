import type { Meter } from '@gateway/metering/meter/meter';
import { openMeter } from '@gateway/metering/meter/open-meter';
import { createRequestRedis } from '@gateway/metering/request-redis';
import { connectRedis } from '@gateway/service-kit/connect-redis';
import type { Life } from '@gateway/service-kit/life';
import type { ImageWorkerConfig } from './config.ts';

type MeterConfig = Pick<
  ImageWorkerConfig,
  'REDIS_URL' | 'GATEWAY_DATA_DIR' | 'GATEWAY_TIME_ZONE' | 'USAGE_RECORDS_DAYS' | 'USAGE_SUMS_DAYS'
>;

/** The process's meter, over a connection of its own. */
export async function openProcessMeter(config: MeterConfig, life: Life): Promise<Meter> {
  const { logger, readiness } = life;
  const redis = life.own(createRequestRedis(config.REDIS_URL), (open) => open.disconnect());
  await connectRedis(redis, { logger, readiness });
  return life.own(
    await openMeter({
      redis,
      dataDir: config.GATEWAY_DATA_DIR,
      timeZone: config.GATEWAY_TIME_ZONE,
      keepRecordsDays: config.USAGE_RECORDS_DAYS,
      keepSumsDays: config.USAGE_SUMS_DAYS,
      now: Date.now,
      report: (problem) => logger.warn(problem, 'metering'),
    }),
    (open) => open.close(),
  );
}
