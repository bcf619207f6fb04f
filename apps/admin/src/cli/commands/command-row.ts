import type { OptionName, Values } from './options.ts';

/** One call of the admin API, and how its answer is printed. */
export interface CommandRow {
  /** The argument's name, if it needs one. */
  readonly argument: 'ID' | 'NAME' | null;
  readonly options: readonly OptionName[];
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: (argument: string) => string;
  readonly query?: (values: Values) => Readonly<Record<string, string | undefined>>;
  readonly body?: (values: Values, argument: string) => Readonly<Record<string, unknown>>;
  /**
   * `value`: the answer itself. `list`: all pages' items. `page`: the first page's items. `stream`: text, printed as it
   * arrives.
   */
  readonly answer: 'value' | 'list' | 'page' | 'stream';
  readonly text: (answer: unknown, nowMs: number) => string;
}

/** Commands by the words of the command line. */
export type Commands = Readonly<Record<string, CommandRow>>;

/** The path of one of these: `at('/admin/v1/keys')('key_1')`. */
export const at = (base: string) => (argument: string) => `${base}/${encodeURIComponent(argument)}`;
