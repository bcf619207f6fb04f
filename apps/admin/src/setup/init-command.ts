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
import { describedChannel } from './described-channel.ts';
import { beginTeam, type FirstTeam, firstTeamIn } from './first-team.ts';
import { findLocalServers, type ModelServer, serverAt } from './model-servers.ts';
import { isOffered, KEY_VARIABLES, OFFERED, type Offered, usualVariable } from './offers.ts';
import type { Terminal } from './terminal.ts';
import { writtenModels } from './written-models.ts';

type InitLine = Pick<CommandLine, 'env' | 'print' | 'terminal' | 'fetch' | 'userName'>;

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
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** What stands between quotes in a file of variables. */
const KEY = /^[\x21-\x26\x28-\x7e]{1,4096}$/;

/**
 * `init`: connects providers and model servers, each of which is asked for its models, and writes a configuration file; a first team and
 * its key are made where a gateway runs already. What the options leave open is asked at a terminal.
 *
 * @throws {CommandError | UsageError}
 */
export async function initialize(argv: readonly string[], line: InitLine): Promise<string> {
  const options = readArguments(argv);
  const isAsked = argv.length === 0;
  const namedTeam = firstTeamIn(options.team, options.budget);
  const chosen = await choose(options, line);
  const typed = new Map<string, string>();
  const connected: Connected[] = [];
  const given = { typed, deployments: options.deployment };
  for (const { provider, baseUrl } of chosen.providers) {
    const entry = { provider, ...(baseUrl && { baseUrl }) };
    const wanted = { name: provider, entry, variable: KEY_VARIABLES[provider], needsKey: true };
    const found = await connect(wanted, given, line);
    if (found !== null) connected.push(found);
  }
  for (const { provider, baseUrl } of chosen.servers) {
    const name = serverName(provider, connected);
    const variable = options['server-key'] ?? usualVariable(name);
    const wanted = { name, entry: { provider, baseUrl }, variable, needsKey: false };
    const found = await connect(wanted, given, line);
    if (found !== null) connected.push(found);
  }
  if (connected.length === 0) throw new CommandError('Nothing is connected, so nothing was written.');
  const team = isAsked ? await askTeam(line) : namedTeam;
  const text = configurationText(connected);
  // What is written is what the gateway takes, before anybody starts it.
  const env = { ...line.env, ...Object.fromEntries(typed) };
  orCommandError(() => parseConfiguration(text, 'gateway.yaml', env));
  await writeConfigurationFile(options.output, text, options.replace);
  await keepKeys(typed);
  return [
    `Written to ${options.output}: ${connected.map(({ name }) => name).join(', ')}.`,
    ...(typed.size === 0 ? [] : [`The keys are in ${KEYS_FILE}: ${[...typed.keys()].join(', ')}.`]),
    '',
    'Next',
    '  npm start                           the gateway; it prints a first key, and commands to try',
    '  npm run gateway -- check            asks every provider again, whenever you have changed the file',
    ...(await beginTeam(team, line)),
  ].join('\n');
}

function readArguments(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        provider: { type: 'string', multiple: true, default: [] },
        server: { type: 'string', multiple: true, default: [] },
        'server-key': { type: 'string' },
        deployment: { type: 'string', multiple: true, default: [] },
        local: { type: 'boolean', default: false },
        output: { type: 'string', default: 'gateway.yaml' },
        team: { type: 'string' },
        budget: { type: 'string' },
        replace: { type: 'boolean', default: false },
      },
    });
    const variable = values['server-key'];
    if (variable !== undefined && !VARIABLE.test(variable))
      throw new UsageError(
        '--server-key names the environment variable that has the key, not the key itself.',
      );
    return values;
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(errorMessage(error));
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
  const names = answer === 'none' ? [] : wordsIn(answer);
  const providers = names.map(providerIn);
  const isLooking = /^y/i.test(await terminal.ask('Look for model servers on this machine? [yes]', 'yes'));
  return { providers, servers: isLooking ? await localServers(print) : [] };
}

/** What is no team or budget is asked once more: keys have been typed by then. */
async function askTeam({ terminal, print }: InitLine): Promise<FirstTeam | undefined> {
  for (let tries = 1; ; tries += 1) {
    const name = await terminal?.ask('A first team, which gets a key of its own? [none]', '');
    const budget = name
      ? await terminal?.ask('What may it spend in a month, in dollars? [any amount]', '')
      : '';
    try {
      return firstTeamIn(name, budget);
    } catch (error) {
      if (!(error instanceof UsageError) || tries >= MAX_TRIES) throw error;
      print(printable(error.message));
    }
  }
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

interface Wanted {
  /** Of the channel. */
  readonly name: string;
  readonly entry: Omit<WrittenChannel, 'apiKey'>;
  /** The variable that has the key. */
  readonly variable: string;
  /** Otherwise it is asked without one, and with one if it refuses that. */
  readonly needsKey: boolean;
}

interface Given {
  /** The keys that were typed, by their variables. */
  readonly typed: Map<string, string>;
  /** Names of deployments, for a provider that lists none. */
  readonly deployments: readonly string[];
}

/** Null: the person at the terminal leaves it out. */
async function connect(
  { name, entry, variable, needsKey }: Wanted,
  { typed, deployments }: Given,
  { env, terminal, print }: InitLine,
): Promise<Connected | null> {
  let hasKey = needsKey;
  let key = env[variable] ?? '';
  for (let tries = 1; ; tries += 1) {
    if (hasKey && key === '') key = await askKey(name, variable, terminal);
    if (hasKey && key === '') return null;
    const written = hasKey ? { ...entry, apiKey: `\${${variable}}` } : entry;
    const channel = channelOf(name, written, { ...env, [variable]: key });
    const found = await ask(channel);
    if (found.outcome === 'listed' || found.outcome === 'accepted') {
      if (hasKey && key !== env[variable]) typed.set(variable, key);
      const isValid = hasKey ? 'the key is valid; ' : '';
      const names =
        found.outcome === 'listed' ? found.names : await deploymentNames(name, deployments, terminal);
      if (names.length === 0)
        throw new CommandError(
          `${entry.baseUrl ?? name} has no model yet: load one there first. Nothing was written.`,
        );
      print(printable(`${name}: ${isValid}${countOf(names.length)}.`));
      return { name, entry: written, channel, names };
    }
    const trouble = `${name}: ${reasonOf(found)}`;
    const isRefused = found.outcome === 'refused';
    if (isRefused && !hasKey) {
      hasKey = true;
      continue;
    }
    if (terminal === undefined || tries >= MAX_TRIES || !isRefused)
      throw new CommandError(`${trouble}\nNothing was written.`);
    print(printable(trouble));
    key = '';
  }
}

async function askKey(name: string, variable: string, terminal: Terminal | undefined): Promise<string> {
  if (terminal === undefined)
    throw new CommandError(
      `There is no key for ${name}: set ${variable} in the environment or in .env. Nothing was written.`,
    );
  const key = await terminal.askSecret(`Key of ${name}, which is not shown (empty: leave ${name} out)`);
  if (key !== '' && !KEY.test(key))
    throw new CommandError('That is no key: it has blanks, quotes or other signs. Nothing was written.');
  return key;
}

/** A resource of Azure does not list them. */
async function deploymentNames(
  name: string,
  given: readonly string[],
  terminal: Terminal | undefined,
): Promise<readonly string[]> {
  if (given.length > 0) return given;
  const answer = await terminal?.ask(`Deployments of ${name} that callers may use, such as gpt-5.2`, '');
  const names = wordsIn(answer ?? '');
  if (names.length > 0) return names;
  throw new CommandError(
    `${name}: the key is valid, and deployments are not listed: name each with --deployment NAME. Nothing was written.`,
  );
}

const wordsIn = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '');

/** A name that no channel before has. */
function serverName(provider: string, before: readonly Connected[]): string {
  const used = before.filter(({ entry }) => entry.provider === provider).length;
  return used === 0 ? provider : `${provider}-${used + 1}`;
}

const countOf = (count: number): string => `${count} ${count === 1 ? 'model' : 'models'}`;

const reasonOf = (found: ListedModels): string => ('reason' in found ? found.reason : 'it lists no models.');

const ask = (channel: Channel): Promise<ListedModels> => listModels(channel, channel.accounts[0]);

/** The channel as the gateway will have it. */
function channelOf(name: string, entry: WrittenChannel, env: InitLine['env']): Channel {
  return orCommandError(() => describedChannel(name, entry, env));
}

function orCommandError<Result>(read: () => Result): Result {
  try {
    return read();
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
