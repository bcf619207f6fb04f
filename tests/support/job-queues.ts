import { Redis } from 'ioredis';

/** How many jobs are where, over all queues. */
export interface JobCounts {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
}

const QUEUES = ['image', 'transcription', 'speech'];

/** A look into the queues. */
export interface JobQueues extends AsyncDisposable {
  counts(): Promise<JobCounts>;
}

export function lookIntoQueues(redisUrl: string): JobQueues {
  const redis = new Redis(redisUrl);
  const sum = async (count: (queue: string) => Promise<number>): Promise<number> => {
    const counts = await Promise.all(QUEUES.map((name) => count(`gateway:{jobs}:${name}`)));
    return counts.reduce((one, other) => one + other, 0);
  };
  return {
    counts: async () => ({
      waiting: await sum(
        async (queue) => (await redis.llen(`${queue}:wait`)) + (await redis.zcard(`${queue}:prioritized`)),
      ),
      active: await sum((queue) => redis.llen(`${queue}:active`)),
      delayed: await sum((queue) => redis.zcard(`${queue}:delayed`)),
    }),
    [Symbol.asyncDispose]: async () => {
      await redis.quit();
    },
  };
}
