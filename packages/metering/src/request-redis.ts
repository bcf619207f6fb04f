import { Redis } from 'ioredis';

/** Redis answers within a millisecond; after this time a request that needs the answer fails with a wait. */
const COMMAND_TIMEOUT_MS = 2000;
const CONNECT_TIMEOUT_MS = 2000;
/** A connection without an answer for this long is closed and opened again. */
const SILENCE_MS = 5000;
const MAX_RECONNECT_DELAY_MS = 1000;

/**
 * A connection for commands that a request waits for: with Redis away or frozen they fail within two seconds. Not
 * connected yet: call `connect()`.
 */
export const createRequestRedis = (url: string): Redis =>
  new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_MS,
    retryStrategy: (attempt) => Math.min(attempt * 100, MAX_RECONNECT_DELAY_MS),
  });
