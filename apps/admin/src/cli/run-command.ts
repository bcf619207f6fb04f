import { CommandError, createAdminClient } from './admin-client.ts';
import { findToken } from './find-token.ts';
import { createdText, keyTable, revokedText } from './key-text.ts';
import { type Command, parseCommand } from './parse-command.ts';
import { USAGE, UsageError } from './usage.ts';

export interface CommandLine {
  /** Without the program's own name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch: typeof fetch;
  readonly now: () => number;
  readonly print: (text: string) => void;
  readonly printError: (text: string) => void;
}

/** Does what the command line says and resolves to the exit code: 0, 1 (it did not work) or 2 (not understood). */
export async function runCommand(line: CommandLine): Promise<number> {
  try {
    line.print(await answer(parseCommand(line.argv), line));
    return 0;
  } catch (error) {
    if (error instanceof CommandError) {
      line.printError(error.message);
      return 1;
    }
    if (!(error instanceof UsageError)) throw error;
    line.printError(`${error.message}\nSee npm run gateway -- --help`);
    return 2;
  }
}

async function answer(command: Command, { env, fetch, now }: CommandLine): Promise<string> {
  if (command.name === 'help') return USAGE;
  const url = env.ADMIN_URL || `http://127.0.0.1:${env.ADMIN_PORT || 8090}`;
  const client = createAdminClient({ url, fetch, ...(await findToken(env)) });
  const text = <T>(value: T, forPeople: (value: T) => string): string =>
    command.json ? JSON.stringify(value, null, 2) : forPeople(value);
  switch (command.name) {
    case 'create':
      return text(await client.createKey(command.key), createdText);
    case 'list':
      return text(await client.listKeys(), (keys) => keyTable(keys, now()));
    case 'revoke':
      return text(await client.revokeKey(command.id), revokedText);
  }
}
