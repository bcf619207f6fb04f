/** A start that cannot succeed, told in words for the person who started it. Ends the process without a stack. */
export class ConfigError extends Error {
  override readonly name: string = 'ConfigError';
}
