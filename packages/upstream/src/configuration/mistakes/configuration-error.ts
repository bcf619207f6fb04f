import { ConfigError } from '@gateway/contracts/config-error';

/** One mistake in the configuration, and its position. Never contains a value from the environment. */
export interface Mistake {
  /** From 1; null for the file as a whole. */
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
  return `${where}${mistake.path === '' ? '' : `${mistake.path}: `}${what}`;
};

const MAX_TOLD = 5;

/** The first mistakes in one line, such as `2 mistakes. line 3, models.a.kind: found 1, expected …; …`. */
export function tellMistakes(mistakes: readonly Mistake[]): string {
  const count = mistakes.length === 1 ? 'one mistake' : `${mistakes.length} mistakes`;
  const more = mistakes.length > MAX_TOLD ? `; and ${mistakes.length - MAX_TOLD} more` : '';
  return `${count}. ${mistakes.slice(0, MAX_TOLD).map(describe).join('; ')}${more}.`;
}

/** All mistakes of one configuration at once. The message is for the person who corrects them. */
export class ConfigurationError extends ConfigError {
  override readonly name: string = 'ConfigurationError';
  readonly mistakes: readonly Mistake[];

  constructor(file: string, mistakes: readonly Mistake[]) {
    const count = mistakes.length === 1 ? 'one mistake' : `${mistakes.length} mistakes`;
    super([`${file} has ${count}:`, ...mistakes.map((mistake) => `  ${describe(mistake)}`)].join('\n'));
    this.mistakes = mistakes;
  }
}

/** A text that is refused before it is read: nested too deeply, or a few lines of aliases that would become gigabytes. */
export class UnboundedConfiguration extends ConfigurationError {
  override readonly name = 'UnboundedConfiguration';

  constructor(file: string) {
    const found = 'aliases inside aliases, or nesting, without bound';
    const expected = 'each part written out, or an alias of a small one';
    super(file, [{ line: null, column: null, path: '', found, expected }]);
  }
}
