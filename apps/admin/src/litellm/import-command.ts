import { parseArgs } from 'node:util';
import { errorMessage } from '@gateway/contracts/error-message';
import { ConfigurationError } from '@gateway/upstream/configuration/mistakes/configuration-error';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { CommandError, createAdminClient } from '../cli/admin-client.ts';
import { UsageError } from '../cli/commands/options.ts';
import { findAdmin } from '../cli/find-admin.ts';
import type { CommandLine } from '../cli/run-command.ts';
import { printable } from '../cli/texts/printable.ts';
import { writeConfigurationFile } from '../cli/write-configuration-file.ts';
import { convert } from './convert.ts';
import { importKeys, litellmAddress } from './import-keys.ts';
import { readLitellmKeys } from './litellm-keys.ts';
import { readLitellmFile } from './read-file.ts';
import { variablesOf } from './variables.ts';
import { configurationText, reportText } from './write-configuration.ts';

/**
 * `import litellm FILE`: writes a configuration of the gateway's, and says what is not the same. With `--from` it makes the teams and
 * keys of a running LiteLLM, by the admin service; without it no service is asked.
 *
 * @throws {CommandError | UsageError}
 */
export async function importLitellm(argv: readonly string[], line: ImportLine): Promise<string> {
  const { file, from, token, output, replace } = readArguments(argv, line.env);
  const parts: string[] = [];
  if (file !== undefined) parts.push(await importFile({ file, output, replace, env: line.env }));
  if (from !== undefined) parts.push(await importKeysFrom({ url: litellmAddress(from), token }, line));
  return parts.join('\n\n');
}

type ImportLine = Pick<CommandLine, 'env' | 'fetch' | 'now' | 'userName' | 'print'>;

async function importKeysFrom(source: { url: URL; token: string }, line: ImportLine): Promise<string> {
  const { env, fetch, now, userName, print } = line;
  const client = createAdminClient({ fetch, actor: userName, ...(await findAdmin(env, fetch)) });
  const { keys, teams } = await readLitellmKeys({ ...source, fetch });
  let made = 0;
  const differences = await importKeys({
    keys,
    teams,
    client,
    nowMs: now(),
    print: (text) => {
      if (made === 0) print('New keys, which are shown only once; store them somewhere safe:\n');
      made += 1;
      print(`  ${printable(text)}`);
    },
  });
  const of = `${teams.length} ${teams.length === 1 ? 'team' : 'teams'} and ${keys.length} ${keys.length === 1 ? 'key' : 'keys'}`;
  return [
    `${made === 0 ? '' : '\n'}LiteLLM has ${of}; ${made} new ${made === 1 ? 'key was' : 'keys were'} made.`,
    ...(differences.length === 0
      ? []
      : [`Not the same\n${differences.map((text) => `  ${text}`).join('\n')}`]),
  ].join('\n\n');
}

interface FileImport {
  readonly file: string;
  readonly output: string;
  readonly replace: boolean;
  readonly env: CommandLine['env'];
}

async function importFile({ file, output, replace, env }: FileImport): Promise<string> {
  const imported = convert(await readLitellmFile(file));
  if (Object.keys(imported.models).length === 0)
    throw new CommandError(`Nothing of ${file} can be carried over.\n\n${reportText(imported)}`);
  const text = configurationText(imported);
  const mistakes = mistakesIn(text, output);
  await writeConfigurationFile(output, text, replace);
  const missing = variablesOf(imported.channels).filter((name) => !env[name]);
  return [
    `Written to ${output}: ${reportText(imported)}`,
    ...(missing.length === 0
      ? []
      : [`Set these variables, in the environment or in .env:\n  ${missing.join('\n  ')}`]),
    ...(mistakes === null ? [] : [`Mend these in ${output} before you start the gateway:\n${mistakes}`]),
  ].join('\n\n');
}

function readArguments(argv: readonly string[], env: CommandLine['env']) {
  const { values, positionals } = parsed(argv);
  const { from, output, replace } = values;
  const [source, file, extra] = positionals;
  if (source !== 'litellm') throw new UsageError('What is imported? import litellm FILE');
  if (extra !== undefined) throw new UsageError(`Unexpected argument: ${extra}`);
  if (file === undefined && from === undefined)
    throw new UsageError('Missing argument: import litellm FILE, or --from URL');
  const token = values.token ?? env.LITELLM_MASTER_KEY ?? '';
  if (from !== undefined && token === '')
    throw new UsageError("LiteLLM's master key is missing: set LITELLM_MASTER_KEY, or give --token.");
  return { file, from, token, output, replace };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        output: { type: 'string', default: 'gateway.yaml' },
        replace: { type: 'boolean', default: false },
        from: { type: 'string' },
        token: { type: 'string' },
      },
    });
  } catch (error) {
    throw new UsageError(errorMessage(error));
  }
}

/** In sentences; values of variables are not known here. */
function mistakesIn(text: string, file: string): string | null {
  try {
    parseConfiguration(text, file, {}, 'unknown');
    return null;
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
}
