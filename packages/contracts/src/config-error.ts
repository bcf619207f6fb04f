/** A start that cannot succeed. The message is for the person who started it; the process ends without a stack trace. */
export class ConfigError extends Error {
  override readonly name: string = 'ConfigError';
}
