import type { Text } from '../texts/table.ts';
import type { OptionName, Values } from './options.ts';

/** One call of the admin API, and how its answer is printed. */
export interface CommandRow {
  /** With the name of the command's argument, if it belongs there: `/admin/v1/keys/{ID}`. */
  readonly path: string;
  /** The name of an argument that belongs into the body. */
  readonly argument?: string;
  /** The argument is a file, whose text becomes this member of the body. */
  readonly fileMember?: string;
  /** `GET` if left out. */
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly options?: readonly OptionName[];
  readonly query?: (values: Values) => Readonly<Record<string, string | undefined>>;
  readonly body?: (values: Values, argument: string) => Readonly<Record<string, unknown>>;
  /**
   * `list`: all pages' items. `page`: the first page's items. `stream`: text, printed as it arrives. `parts`: called until nothing is
   * left to delete, and what was deleted. The answer itself if left out.
   */
  readonly answer?: 'list' | 'page' | 'stream' | 'parts';
  readonly text: Text;
}

/** Commands by the words of the command line. */
export type Commands = Readonly<Record<string, CommandRow>>;

const ARGUMENT = /\{(\w+)\}/;

/** The name of the argument that a command needs. */
export const argumentOf = ({ path, argument }: CommandRow): string | undefined =>
  argument ?? ARGUMENT.exec(path)?.[1];

export const pathOf = ({ path }: CommandRow, argument: string): string =>
  path.replace(ARGUMENT, () => encodeURIComponent(argument));
