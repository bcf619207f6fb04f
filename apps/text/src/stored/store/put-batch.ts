import { createBatcher } from '@gateway/redis/batcher';
import type { RunScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';

interface Put {
  readonly keys: readonly string[];
  readonly args: readonly (string | number | Buffer)[];
}

/** Keep the time for which Redis serves nobody else short. */
const MAX_TOGETHER = 32;

const Answer = z.array(z.string());

/**
 * Runs the script that stores a record, many times in one write.
 *
 * @param put the script, for those that go alone
 */
export function createPutBatch(redis: Redis, put: RunScript<string[]>): RunScript<string[]> {
  const alone = ({ keys, args }: Put): Promise<unknown> =>
    put(keys, ...args).catch((error: unknown) => error);
  const batcher = createBatcher<Put>({
    maxItems: MAX_TOGETHER,
    send: async (puts) => {
      const [first] = puts;
      if (puts.length === 1 && first !== undefined) return [await alone(first)];
      const pipeline = redis.pipeline();
      for (const { keys, args } of puts) pipeline.gatewayStoreRecord?.(keys.length, ...keys, ...args);
      const answers = (await pipeline.exec()) ?? [];
      return await Promise.all(
        puts.map((one, index) => {
          const [error = new Error('no answer'), answer] = answers[index] ?? [];
          // Redis was started again since the script was sent; sent alone it takes its script along.
          return error?.message.startsWith('NOSCRIPT') ? alone(one) : (error ?? answer);
        }),
      );
    },
  });
  return async (keys, ...args) => Answer.parse(await batcher.run({ keys, args }));
}
