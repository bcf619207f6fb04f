import { createRedis } from '@gateway/redis/open-redis';
import type { Redis } from 'ioredis';

/** Tells the readers in this process that a log has changed: one connection for all of them. */
export interface EventFeed {
  /** Calls `onChange` after each change from now on, and whenever one may have been missed. */
  watch(channel: string, onChange: () => void): Watching;
  close(): void;
}

export interface Watching {
  /** Resolves when changes are heard, or there is no connection: they are, and `onChange` is called, as soon as there is one. */
  readonly isHeard: Promise<void>;
  stop(): void;
}

interface EventFeedOptions {
  readonly redisUrl: string;
  readonly onError: (error: unknown) => void;
}

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
    const redis = createRedis(redisUrl, 'request');
    redis.on('error', onError);
    redis.on('ready', () => void resubscribe(redis).catch(onError));
    redis.on('message', (channel) => {
      for (const onChange of readers.get(channel) ?? []) onChange();
    });
    redis.connect().catch(onError);
    subscriber = redis;
    return redis;
  };

  return {
    watch: (channel, onChange) => {
      const set = readers.get(channel) ?? new Set();
      readers.set(channel, set.add(onChange));
      const subscribed = connection().subscribe(channel);
      return {
        isHeard: subscribed.then(
          () => undefined,
          () => undefined,
        ),
        stop: () => {
          if (!set.delete(onChange) || set.size > 0) return;
          readers.delete(channel);
          subscriber?.unsubscribe(channel).catch(() => undefined);
        },
      };
    },
    close: () => subscriber?.disconnect(),
  };
}
