import { ACCESS_COMMANDS } from './commands/access-commands.ts';
import { argumentOf, type CommandRow, type Commands } from './commands/command-row.ts';
import { CONFIGURATION_COMMANDS } from './commands/configuration-commands.ts';
import { OPERATIONS_COMMANDS } from './commands/operations-commands.ts';
import { namesGiven, readOptions, UsageError, type Values } from './commands/options.ts';
import { TRAFFIC_COMMANDS } from './commands/traffic-commands.ts';

const COMMANDS: Commands = {
  ...ACCESS_COMMANDS,
  ...TRAFFIC_COMMANDS,
  ...OPERATIONS_COMMANDS,
  ...CONFIGURATION_COMMANDS,
};

/** A parsed command line. */
export type Command =
  | { readonly name: 'help' }
  | {
      readonly name: 'call';
      readonly row: CommandRow;
      readonly argument: string;
      readonly values: Values;
    };

const ALWAYS = ['json', 'help'];

/** @throws {UsageError} */
export function parseCommand(argv: readonly string[]): Command {
  const { values, positionals } = readOptions(argv);
  const [noun, verb = ''] = positionals;
  if (values.help || noun === undefined) return { name: 'help' };
  const two = `${noun} ${verb}`;
  const words = Object.hasOwn(COMMANDS, two) ? two : noun;
  const row = Object.hasOwn(COMMANDS, words) ? COMMANDS[words] : undefined;
  if (row === undefined) throw unknownCommand(noun, verb);
  const [argument, ...rest] = positionals.slice(words.split(' ').length);
  const needed = argumentOf(row);
  if (needed !== undefined && argument === undefined)
    throw new UsageError(`Missing argument: ${words} ${needed}`);
  const extra = needed === undefined ? argument : rest[0];
  if (extra !== undefined) throw new UsageError(`Unexpected argument: ${extra}`);
  const allowed: readonly string[] = [...(row.options ?? []), ...ALWAYS];
  const wrong = namesGiven(values).find((name) => !allowed.includes(name));
  if (wrong !== undefined) throw new UsageError(`${words} has no option --${wrong}`);
  return { name: 'call', row, argument: argument ?? '', values };
}

const unknownCommand = (noun: string, verb: string): UsageError => {
  const verbs = Object.keys(COMMANDS).filter((words) => words.startsWith(`${noun} `));
  if (verbs.length === 0) return new UsageError(`Unknown command: ${noun}`);
  return new UsageError(
    verb === '' ? `Which command? ${verbs.join(', ')}` : `Unknown command: ${noun} ${verb}`,
  );
};
