import { Redis } from 'ioredis';
import { eventsKey } from './background-responses.ts';

/** Notifies the readers in this process that a response has changed: one connection for all of them. */
export interface EventFeed {
  /** Calls `onChange` after each change from now on; returns what ends that. @throws what Redis throws */
  watch(id: string, onChange: () => void): Promise<() => void>;
  close(): void;
}

interface EventFeedOptions {
  readonly redisUrl: string;
  readonly onError: (error: unknown) => void;
}

const CONNECT_TIMEOUT_MS = 2000;
const MAX_RECONNECT_DELAY_MS = 1000;

/** Connects with the first reader. After a lost connection every reader looks once, because it may have missed a change. */
export function createEventFeed({ redisUrl, onError }: EventFeedOptions): EventFeed {
  const readers = new Map<string, Set<() => void>>();
  let subscriber: Redis | null = null;

  const resubscribe = async (redis: Redis): Promise<void> => {
    if (readers.size === 0) return;
    await redis.subscribe(...readers.keys());
    for (const set of readers.values()) for (const onChange of set) onChange();
  };

  const connection = (): Redis => {
    if (subscriber !== null) return subscriber;
    const redis = new Redis(redisUrl, {
      autoResubscribe: false,
      maxRetriesPerRequest: 0,
      connectTimeout: CONNECT_TIMEOUT_MS,
      retryStrategy: (attempt) => Math.min(attempt * 100, MAX_RECONNECT_DELAY_MS),
    });
    redis.on('error', onError);
    redis.on('ready', () => void resubscribe(redis).catch(onError));
    redis.on('message', (channel) => {
      for (const onChange of readers.get(channel) ?? []) onChange();
    });
    subscriber = redis;
    return redis;
  };

  const leave = (channel: string, onChange: () => void): void => {
    const set = readers.get(channel);
    if (!set?.delete(onChange) || set.size > 0) return;
    readers.delete(channel);
    subscriber?.unsubscribe(channel).catch(() => undefined);
  };

  return {
    watch: async (id, onChange) => {
      const channel = eventsKey(id);
      const set = readers.get(channel) ?? new Set();
      readers.set(channel, set.add(onChange));
      try {
        await connection().subscribe(channel);
      } catch (error) {
        leave(channel, onChange);
        throw error;
      }
      return () => leave(channel, onChange);
    },
    close: () => subscriber?.disconnect(),
  };
}
