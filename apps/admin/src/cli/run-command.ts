import { readFile } from 'node:fs/promises';
import { errorMessage } from '@gateway/contracts/error-message';
import { z } from 'zod';
import { CAPACITY_USAGE, capacityJson, capacityTable, costsTable } from '../capacity/capacity-text.ts';
import { LoadError, readCapacityCommand } from '../capacity/load.ts';
import type { Terminal } from '../setup/terminal.ts';
import { type AdminClient, CommandError, createAdminClient } from './admin-client.ts';
import { type CommandRow, pathOf } from './commands/command-row.ts';
import { UsageError } from './commands/options.ts';
import { answerDatabase } from './database-commands.ts';
import { findAdmin } from './find-admin.ts';
import { type Command, parseCommand } from './parse-command.ts';
import { printable } from './texts/printable.ts';
import { USAGE } from './usage.ts';

export interface CommandLine {
  /** Without the program's own name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch: typeof fetch;
  readonly now: () => number;
  /** The user's name, for the audit log. */
  readonly userName: string;
  readonly print: (text: string) => void;
  /** Prints without a line end; resolves when the text has been written. */
  readonly write: (text: string) => Promise<void>;
  readonly printError: (text: string) => void;
  /** Absent: nobody can be asked. */
  readonly terminal?: Terminal | undefined;
}

/** Runs the command line and resolves to the exit code: 0, 1 (it failed) or 2 (not understood). */
export async function runCommand(line: CommandLine): Promise<number> {
  try {
    const [noun = '', ...rest] = line.argv;
    if (isHere(noun)) line.print(printable(await HERE[noun](rest, line)));
    else await answer(parseCommand(line.argv), line);
    return 0;
  } catch (error) {
    if (error instanceof LoadError) {
      line.printError(`${printable(error.message)}\nSee npm run gateway -- capacity --help`);
      return 2;
    }
    if (error instanceof CommandError) {
      line.printError(printable(error.message));
      return 1;
    }
    if (!(error instanceof UsageError)) throw error;
    line.printError(`${error.message}\nSee npm run gateway -- --help`);
    return 2;
  }
}

/** The commands that do not need the admin service. */
const HERE = {
  capacity: (argv: readonly string[]) => answerCapacity(argv),
  backup: (argv: readonly string[], { env }: CommandLine) => answerDatabase('backup', argv, env),
  restore: (argv: readonly string[], { env }: CommandLine) => answerDatabase('restore', argv, env),
  init: async (argv: readonly string[], line: CommandLine) => {
    const { initialize } = await import('../setup/init-command.ts');
    return initialize(argv, line);
  },
  check: async (argv: readonly string[], line: CommandLine) => {
    const { checkConfiguration } = await import('../setup/check-command.ts');
    return checkConfiguration(argv, line);
  },
  import: async (argv: readonly string[], line: CommandLine) => {
    // Few commands read YAML, and none should wait for it.
    const { importLitellm } = await import('../litellm/import-command.ts');
    return importLitellm(argv, line);
  },
};
const isHere = (noun: string): noun is keyof typeof HERE => Object.hasOwn(HERE, noun);

function answerCapacity(argv: readonly string[]): string {
  const command = readCapacityCommand(argv);
  if (command.show === 'help') return CAPACITY_USAGE;
  if (command.show === 'costs') return costsTable();
  return (command.show === 'json' ? capacityJson : capacityTable)(command.loads);
}

async function answer(command: Command, line: CommandLine): Promise<void> {
  if (command.name === 'help') return line.print(USAGE);
  const { env, fetch, userName } = line;
  const { row, argument, values } = command;
  const member = row.fileMember;
  const file = member === undefined ? {} : { [member]: await textOfFile(argument) };
  const body = row.body && { ...row.body(values, argument), ...file };
  const client = createAdminClient({ fetch, actor: userName, ...(await findAdmin(env, fetch)) });
  const query = row.query?.(values) ?? {};
  const path = pathOf(row, argument);
  if (row.answer === 'stream') {
    for await (const piece of client.stream(path, query)) await line.write(piece);
    return;
  }
  const value = await callApi(client, row, path, query, body);
  line.print(printable(values.json ? JSON.stringify(value, null, 2) : row.text(value, line.now())));
}

async function textOfFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new CommandError(`${path} cannot be read (${errorMessage(error)}).`);
  }
}

function callApi(
  client: AdminClient,
  { answer: kind, method = 'GET' }: CommandRow,
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  body: unknown,
): Promise<unknown> {
  if (kind === 'list') return client.list(path);
  if (kind === 'parts') return callInParts((part) => client.call(method, path, { ...query, ...part }));
  return kind === 'page' ? client.page(path, query) : client.call(method, path, query, body);
}

const Part = z.object({ deleted: z.number(), next: z.string().nullable() });

async function callInParts(
  call: (part: { readonly cursor?: string }) => Promise<unknown>,
): Promise<{ readonly deleted: number }> {
  let deleted = 0;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const part = Part.parse(await call(cursor === undefined ? {} : { cursor }));
    deleted += part.deleted;
    cursor = part.next;
  }
  return { deleted };
}
