import { ConfigError } from '@gateway/contracts/config-error';

/** One thing that is wrong in the configuration, and where. Never holds a value that came from the environment. */
export interface Mistake {
  /** From 1; null where the file as a whole is meant. */
  readonly line: number | null;
  readonly column: number | null;
  /** Such as `models.gpt-5.2.routes[0].channel`; empty for the file as a whole. */
  readonly path: string;
  readonly found: string;
  readonly expected: string;
}

const describe = (mistake: Mistake): string => {
  const where = mistake.line === null ? '' : `line ${mistake.line}, `;
  const what = `found ${mistake.found}, expected ${mistake.expected}`;
  return `  ${where}${mistake.path === '' ? '' : `${mistake.path}: `}${what}`;
};

/** All mistakes of one configuration at once. The message is made for the person who has to correct them. */
export class ConfigurationError extends ConfigError {
  override readonly name = 'ConfigurationError';
  readonly mistakes: readonly Mistake[];

  constructor(file: string, mistakes: readonly Mistake[]) {
    const count = mistakes.length === 1 ? 'one mistake' : `${mistakes.length} mistakes`;
    super([`${file} has ${count}:`, ...mistakes.map(describe)].join('\n'));
    this.mistakes = mistakes;
  }
}
