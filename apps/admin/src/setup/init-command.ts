import { appendFile, chmod } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { errorMessage } from '@gateway/contracts/error-message';
import type { Channel } from '@gateway/upstream/configuration/configuration';
import { ConfigurationError } from '@gateway/upstream/configuration/mistakes/configuration-error';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { type ListedModels, listModels } from '@gateway/upstream/listing/list-models';
import { Document, isMap, isScalar } from 'yaml';
import { CommandError } from '../cli/admin-client.ts';
import { UsageError } from '../cli/commands/options.ts';
import type { CommandLine } from '../cli/run-command.ts';
import { printable } from '../cli/texts/printable.ts';
import { writeConfigurationFile } from '../cli/write-configuration-file.ts';
import { findLocalServers, type ModelServer, serverAt } from './model-servers.ts';
import { isOffered, KEY_VARIABLES, OFFERED, type Offered } from './offers.ts';
import type { Terminal } from './terminal.ts';
import { writtenModels } from './written-models.ts';

type InitLine = Pick<CommandLine, 'env' | 'print' | 'terminal'>;

/** An entry of the configuration file's `channels`. */
interface WrittenChannel {
  readonly provider: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
}

interface Connected {
  readonly name: string;
  readonly entry: WrittenChannel;
  readonly channel: Channel;
  readonly names: readonly string[];
}

interface Chosen {
  readonly providers: readonly { readonly provider: Offered; readonly baseUrl: string | undefined }[];
  readonly servers: readonly ModelServer[];
}

const SAFE_MODE = 0o600;
const KEYS_FILE = '.env';
const MAX_TRIES = 3;
/** What stands between quotes in a file of variables. */
const KEY = /^[\x21-\x26\x28-\x7e]{1,4096}$/;

/**
 * `init`: connects providers and model servers, each of which is asked for its models, and writes a configuration file. What the options
 * leave open is asked at a terminal. No service is asked.
 *
 * @throws {CommandError | UsageError}
 */
export async function initialize(argv: readonly string[], line: InitLine): Promise<string> {
  const options = readArguments(argv);
  const chosen = await choose(options, line);
  const typed = new Map<string, string>();
  const connected: Connected[] = [];
  for (const { provider, baseUrl } of chosen.providers)
    connected.push(...(await connectProvider({ provider, baseUrl, typed }, line)));
  for (const server of chosen.servers) connected.push(await connectServer(server, connected, line));
  if (connected.length === 0) throw new CommandError('Nothing is connected, so nothing was written.');
  const text = configurationText(connected);
  // What is written is what the gateway takes, before anybody starts it.
  parse(text, { ...line.env, ...Object.fromEntries(typed) });
  await writeConfigurationFile(options.output, text, options.replace);
  await keepKeys(typed);
  return [
    `Written to ${options.output}: ${connected.map(({ name }) => name).join(', ')}.`,
    ...(typed.size === 0 ? [] : [`The keys are in ${KEYS_FILE}: ${[...typed.keys()].join(', ')}.`]),
    '',
    'Next',
    '  npm start                           the gateway; it prints a first key, and commands to try',
    '  npm run gateway -- check            asks every provider again, whenever you have changed the file',
    '  npm run gateway -- teams create NAME --budget 100 --period month',
    '  npm run gateway -- keys create --team NAME --name PROGRAM',
  ].join('\n');
}

function readArguments(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        provider: { type: 'string', multiple: true, default: [] },
        server: { type: 'string', multiple: true, default: [] },
        local: { type: 'boolean', default: false },
        output: { type: 'string', default: 'gateway.yaml' },
        replace: { type: 'boolean', default: false },
      },
    });
    return values;
  } catch (error) {
    throw new UsageError(errorMessage(error));
  }
}

async function choose(
  { provider, server, local }: ReturnType<typeof readArguments>,
  { env, terminal, print }: InitLine,
): Promise<Chosen> {
  if (provider.length > 0 || server.length > 0 || local)
    return {
      providers: provider.map(providerIn),
      servers: [
        ...(await Promise.all(server.map((url) => serverAt(addressIn(url))))),
        ...(local ? await localServers(print) : []),
      ],
    };
  if (terminal === undefined)
    throw new UsageError(
      `What is connected? --provider NAME (${OFFERED}), --server URL or --local; at a terminal it is asked.`,
    );
  const known = Object.entries(KEY_VARIABLES).flatMap(([name, variable]) => (env[variable] ? [name] : []));
  const preset = known.length === 0 ? 'none' : known.join(', ');
  const answer = await terminal.ask(`Which providers, of ${OFFERED}? [${preset}]`, preset);
  const names = answer === 'none' ? [] : answer.split(/[\s,]+/).filter((name) => name !== '');
  const providers = names.map(providerIn);
  const isLooking = /^y/i.test(await terminal.ask('Look for model servers on this machine? [yes]', 'yes'));
  return { providers, servers: isLooking ? await localServers(print) : [] };
}

async function localServers(print: InitLine['print']): Promise<readonly ModelServer[]> {
  const servers = await findLocalServers();
  print(
    servers.length === 0
      ? 'No model server answers on the usual ports of this machine. Name another address with --server URL.'
      : `Found ${servers.map(({ provider, baseUrl }) => `${provider} at ${baseUrl}`).join(', ')}.`,
  );
  return servers;
}

function providerIn(text: string): Chosen['providers'][number] {
  const [, name = '', url] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
  if (!isOffered(name))
    throw new UsageError(
      `There is no provider '${name}' here: ${OFFERED}. Others are described in gateway.example.yaml and docs/clouds.`,
    );
  return { provider: name, baseUrl: url === undefined ? undefined : addressIn(url).href.replace(/\/$/, '') };
}

function addressIn(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new UsageError(
      `'${text.slice(0, 100)}' is no address: http://HOST:PORT, without a user and a password.`,
    );
  return url;
}

interface ProviderChoice {
  readonly provider: Offered;
  readonly baseUrl: string | undefined;
  /** The keys that were typed, by their variables. */
  readonly typed: Map<string, string>;
}

/** Nothing, where the person at the terminal leaves it out. */
async function connectProvider(
  { provider, baseUrl, typed }: ProviderChoice,
  { env, terminal, print }: InitLine,
): Promise<readonly Connected[]> {
  const variable = KEY_VARIABLES[provider];
  const entry = { provider, ...(baseUrl && { baseUrl }), apiKey: `\${${variable}}` };
  let key = env[variable] ?? '';
  for (let tries = 1; ; tries += 1) {
    if (key === '') key = await askKey(provider, variable, terminal);
    if (key === '') return [];
    const channel = channelOf(provider, entry, { ...env, [variable]: key });
    const found = await ask(channel);
    if (found.outcome === 'listed') {
      if (key !== env[variable]) typed.set(variable, key);
      print(printable(`${provider}: the key is valid; ${countOf(found.names.length)}.`));
      return [{ name: provider, entry, channel, names: found.names }];
    }
    const trouble = `${provider}: ${reasonOf(found)}`;
    if (terminal === undefined || tries === MAX_TRIES || found.outcome !== 'refused')
      throw new CommandError(`${trouble}\nNothing was written.`);
    print(printable(trouble));
    key = '';
  }
}

async function askKey(provider: Offered, variable: string, terminal: Terminal | undefined): Promise<string> {
  if (terminal === undefined)
    throw new CommandError(
      `There is no key for ${provider}: set ${variable} in the environment or in .env. Nothing was written.`,
    );
  const key = await terminal.askSecret(
    `Key of ${provider}, which is not shown (empty: leave ${provider} out)`,
  );
  if (key !== '' && !KEY.test(key))
    throw new CommandError('That is no key: it has blanks, quotes or other signs. Nothing was written.');
  return key;
}

async function connectServer(
  { provider, baseUrl }: ModelServer,
  before: readonly Connected[],
  { env, print }: InitLine,
): Promise<Connected> {
  const used = before.filter(({ entry }) => entry.provider === provider).length;
  const name = used === 0 ? provider : `${provider}-${used + 1}`;
  const entry = { provider, baseUrl };
  const channel = channelOf(name, entry, env);
  const found = await ask(channel);
  if (found.outcome !== 'listed') throw new CommandError(`${reasonOf(found)}\nNothing was written.`);
  if (found.names.length === 0)
    throw new CommandError(`${baseUrl} has no model yet: load one there first. Nothing was written.`);
  print(printable(`${name}: ${countOf(found.names.length)}.`));
  return { name, entry, channel, names: found.names };
}

const countOf = (count: number): string => `${count} ${count === 1 ? 'model' : 'models'}`;

const reasonOf = (found: ListedModels): string => ('reason' in found ? found.reason : 'it lists no models.');

const ask = (channel: Channel): Promise<ListedModels> => listModels(channel, channel.accounts[0]);

/** The channel as the gateway will have it. */
function channelOf(name: string, entry: WrittenChannel, env: InitLine['env']): Channel {
  const routes = [{ channel: name }];
  const document = { channels: { [name]: entry }, models: { '*': { kind: 'text', routes } } };
  const channel = parse(new Document(document).toString(), env).channels.get(name);
  if (channel === undefined) throw new Error(`no channel ${name}`);
  return channel;
}

function parse(text: string, env: InitLine['env']) {
  try {
    return parseConfiguration(text, 'gateway.yaml', env);
  } catch (error) {
    throw error instanceof ConfigurationError ? new CommandError(error.message) : error;
  }
}

/** The file, with a comment on each channel. */
function configurationText(connected: readonly Connected[]): string {
  const models: Record<string, unknown> = {};
  const notes = new Map<string, string>();
  for (const { name, channel, names } of connected) {
    const written = writtenModels(channel, names, new Set(Object.keys(models)));
    Object.assign(models, written.models);
    notes.set(name, written.note);
  }
  const channels = Object.fromEntries(connected.map(({ name, entry }) => [name, entry]));
  const document = new Document({ channels, models });
  document.commentBefore = [
    ' The providers that the gateway uses, and the models that callers may name.',
    ' gateway.example.yaml shows every setting: limits, failover, prices. A valid change takes effect within a second;',
    ' npm run gateway -- check asks every provider again.',
  ].join('\n');
  const written = document.get('channels');
  if (isMap(written))
    for (const { key } of written.items)
      if (isScalar(key)) key.commentBefore = ` ${notes.get(String(key.value)) ?? ''}`;
  return document.toString({ lineWidth: 0 });
}

/** Adds the typed keys to the file of variables that the gateway's commands and Compose read. */
async function keepKeys(typed: ReadonlyMap<string, string>): Promise<void> {
  if (typed.size === 0) return;
  const lines = [...typed].map(([variable, key]) => `${variable}='${key}'\n`);
  await appendFile(KEYS_FILE, `\n${lines.join('')}`, { mode: SAFE_MODE });
  await chmod(KEYS_FILE, SAFE_MODE);
}
