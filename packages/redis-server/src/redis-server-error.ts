/** Redis cannot be installed or run here. The message is one sentence for the person at the terminal. */
export class RedisServerError extends Error {
  override readonly name = 'RedisServerError';
}
