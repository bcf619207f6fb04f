import { parseArgs } from 'node:util';
import { UsageError } from './usage.ts';

/** What the command line asks for. `key` is the body of the call that makes a key; the service checks it. */
export type Command =
  | { readonly name: 'help' }
  | { readonly name: 'create'; readonly key: Readonly<Record<string, unknown>>; readonly json: boolean }
  | { readonly name: 'list'; readonly json: boolean }
  | { readonly name: 'revoke'; readonly id: string; readonly json: boolean };

const options = {
  name: { type: 'string' },
  team: { type: 'string' },
  models: { type: 'string' },
  endpoints: { type: 'string' },
  'expires-at': { type: 'string' },
  label: { type: 'string', multiple: true },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

type Values = ReturnType<typeof parse>['values'];

/** @throws {UsageError} */
export function parseCommand(argv: readonly string[]): Command {
  const { values, positionals } = parse(argv);
  const [noun, verb, id, ...rest] = positionals;
  if (values.help || noun === undefined) return { name: 'help' };
  if (noun !== 'keys') throw new UsageError(`Unknown command: ${noun}`);
  if (rest.length > 0) throw new UsageError(`One argument too many: ${rest[0]}`);
  const { json } = values;
  if (verb === 'revoke') {
    if (id === undefined) throw new UsageError('Which key? keys revoke ID');
    return { name: 'revoke', id, json };
  }
  if (id !== undefined) throw new UsageError(`One argument too many: ${id}`);
  if (verb === 'create') return { name: 'create', key: keyOf(values), json };
  if (verb === 'list') return { name: 'list', json };
  throw new UsageError(verb === undefined ? 'Which command?' : `Unknown command: keys ${verb}`);
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

const keyOf = (values: Values): Record<string, unknown> => ({
  name: values.name ?? 'cli',
  ...(values.team === undefined ? {} : { team: values.team }),
  ...(values.models === undefined ? {} : { models: list(values.models) }),
  ...(values.endpoints === undefined ? {} : { endpoints: list(values.endpoints) }),
  ...(values['expires-at'] === undefined ? {} : { expiresAt: values['expires-at'] }),
  ...(values.label === undefined ? {} : { labels: Object.fromEntries(values.label.map(labelOf)) }),
});

const list = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

function labelOf(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`A label is NAME=VALUE, not ${text}`);
  return [text.slice(0, at), text.slice(at + 1)];
}
