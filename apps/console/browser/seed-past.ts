import { NOTHING_CONSUMED, type UsageRecord } from '@gateway/contracts/usage/usage-record';
import { dayOf, redisNames } from '@gateway/metering/redis-names';
import { createRedis } from '@gateway/redis/open-redis';

const HOUR_MS = 3_600_000;
const HOURS = 14 * 24;
const MAX_BUSY = 2.5;

/** What is sent in an hour, by whom, and how it goes. */
const TRAFFIC = [
  {
    model: 'gpt-5.2',
    endpoint: 'responses',
    channel: 'openai',
    team: 'platform',
    ms: 2400,
    most: 9,
    microUsd: 64_500,
  },
  {
    model: 'claude-sonnet-5-5',
    endpoint: 'messages',
    channel: 'claude',
    team: 'research',
    ms: 3900,
    most: 7,
    microUsd: 117_000,
  },
  {
    model: 'gpt-5.2-mini',
    endpoint: 'chat',
    channel: 'openai',
    team: 'support',
    ms: 900,
    most: 12,
    microUsd: 8_000,
  },
  {
    model: 'llama-4-70b',
    endpoint: 'chat',
    channel: 'local',
    team: 'search',
    ms: 1300,
    most: 5,
    microUsd: 3_000,
  },
  {
    model: 'dall-e-3',
    endpoint: 'images',
    channel: 'openai',
    team: 'marketing',
    ms: 14_000,
    most: 2,
    microUsd: 40_000,
  },
] as const;

/** Two weeks of requests with quiet nights and an outage, so that pictures have something to draw. */
export async function seedPast(redisUrl: string, keyId: string): Promise<void> {
  const redis = createRedis(redisUrl, 'request');
  await redis.connect();
  const beganMs = Date.now();
  for (let hour = HOURS; hour > 0; hour -= 1) {
    const atMs = beganMs - hour * HOUR_MS;
    const busy =
      Math.sin(((new Date(atMs).getUTCHours() - 8) / 24) * 2 * Math.PI) + 1.3 + 0.2 * Math.sin(hour);
    const records = TRAFFIC.flatMap(({ ms, most, microUsd, channel, ...subject }, kind) =>
      Array.from({ length: Math.round((busy / MAX_BUSY) * most) }, (_, at) => {
        const isOutage = channel === 'claude' && hour > 40 && hour < 46;
        const durationMs = Math.round(ms * (1 + 0.4 * Math.sin(hour / 5 + at)));
        const record: UsageRecord = {
          ...subject,
          id: `past-${hour}-${kind}-${at}`,
          keyId,
          startedAtMs: atMs - durationMs,
          outcome: isOutage ? 'failed' : 'ok',
          channel,
          attempts: 1,
          durationMs,
          firstByteMs: isOutage ? null : Math.round(durationMs / 4),
          consumption: { ...NOTHING_CONSUMED, inputTokens: 18_000 + 900 * at, outputTokens: 1_420 },
          estimated: false,
          costMicroUsd: microUsd + 400 * at,
          ...(isOutage && { detail: { status: 503, errorCode: 'upstream_overloaded' } }),
        };
        return record;
      }),
    );
    // A request that is recorded late stands at its end.
    for (const record of records)
      await redis.xadd(redisNames.records(dayOf(beganMs)), '*', 'record', JSON.stringify(record));
  }
  await redis.quit();
}
