import { Redis } from 'ioredis';

/** For commands that a request waits for: they fail when Redis is away or frozen. */
const PROMPT = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  commandTimeout: 5000,
  connectTimeout: 5000,
} as const;

/** For workers and listeners: they wait until an outage is over. BullMQ demands `maxRetriesPerRequest: null` for its blocking commands. */
const PATIENT = { maxRetriesPerRequest: null, connectTimeout: 5000 } as const;

const RETRY_DELAY_MS = 250;
const MAX_RETRY_DELAY_MS = 2000;

async function connect(
  redisUrl: string,
  options: typeof PROMPT | typeof PATIENT,
  onError: (error: unknown) => void,
) {
  const redis = new Redis(redisUrl, {
    ...options,
    lazyConnect: true,
    retryStrategy: (times) => Math.min(times * RETRY_DELAY_MS, MAX_RETRY_DELAY_MS),
  });
  redis.on('error', onError);
  try {
    await redis.connect();
  } catch (error) {
    redis.disconnect();
    throw new Error('Redis does not answer. Is REDIS_URL right, and is Redis running?', { cause: error });
  }
  return redis;
}

/** Opens a connection whose commands fail promptly while Redis is away. */
export const connectPromptly = (redisUrl: string, onError: (error: unknown) => void): Promise<Redis> =>
  connect(redisUrl, PROMPT, onError);

/** Opens a connection whose commands wait until Redis is back. */
export const connectPatiently = (redisUrl: string, onError: (error: unknown) => void): Promise<Redis> =>
  connect(redisUrl, PATIENT, onError);

/** How long BullMQ may take to close once nothing is left to be done. */
export const GOODBYE_MS = 1000;

/** Waits until BullMQ has closed, within a time limit: while Redis is away, BullMQ waits for it without end. */
export async function closeInTime(closing: Promise<unknown>, timeLimitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeLimitMs);
  });
  try {
    await Promise.race([closing, late]);
  } finally {
    clearTimeout(timer);
    closing.catch(() => undefined);
  }
}
