import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { createLedger } from '@gateway/metering/ledger/ledger';
import { createRedis } from '@gateway/redis/open-redis';
import { z } from 'zod';
import type { RunningConsole } from './run-console.ts';

const AT_ONCE = 50;
/** So many of the keys send the requests. */
const SENDERS = 500;

const Made = z.looseObject({ id: z.string() });

/** As many keys, each with limits and a budget, and as many requests of the last hour, as a large company lists. */
export async function seedMany(
  { call, stack }: Pick<RunningConsole, 'call' | 'stack'>,
  count: number,
): Promise<void> {
  const redis = createRedis(stack.redisUrl, 'request');
  await redis.connect();
  const ledger = createLedger({ redis, now: Date.now, keepRecordsDays: 30 });
  const beganMs = Date.now();
  const ids: string[] = [];
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, count - from) }, async (_, at) => {
        const number = from + at;
        const made = await call('POST', '/keys', {
          name: `program ${number}`,
          owner: `owner ${number % 300}`,
          models: ['gpt-*', 'claude-*'],
          budget: { usd: 10 + (number % 90), period: 'month' },
          limits: { requestsPerMinute: 60 },
        });
        const { id } = Made.parse(made);
        ids.push(id);
        await ledger.settle(
          {
            id: `many-${number}`,
            keyId: ids[number % SENDERS] ?? id,
            team: null,
            model: 'gpt-5.2',
            endpoint: 'responses',
            startedAtMs: beganMs - number * 300,
          },
          {
            outcome: number % 40 === 0 ? 'failed' : 'ok',
            channel: 'openai',
            attempts: 1,
            durationMs: 900 + (number % 700),
            firstByteMs: 200,
            consumption: { ...NOTHING_CONSUMED, inputTokens: 1000 + number, outputTokens: 200 },
            estimated: false,
            costMicroUsd: 3250 + number,
          },
        );
      }),
    );
  await redis.quit();
}
