import { appendFile, chmod } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { errorMessage } from '@gateway/contracts/error-message';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { Document, isMap, isScalar } from 'yaml';
import { CommandError } from '../cli/admin-client.ts';
import { UsageError } from '../cli/commands/options.ts';
import { printable } from '../cli/texts/printable.ts';
import { writeConfigurationFile } from '../cli/write-configuration-file.ts';
import { type Connected, connectChannel, type InitLine, orCommandError, wordsIn } from './connect-channel.ts';
import { beginTeam, type FirstTeam, firstTeamIn } from './first-team.ts';
import { findLocalServers, type ModelServer, serverAt } from './model-servers.ts';
import { isOffered, KEY_VARIABLES, OFFERED, type Offered, usualVariable } from './offers.ts';
import { writtenModels } from './written-models.ts';

interface Chosen {
  readonly providers: readonly { readonly provider: Offered; readonly baseUrl: string | undefined }[];
  readonly servers: readonly ModelServer[];
}

const SAFE_MODE = 0o600;
const KEYS_FILE = '.env';
const MAX_TRIES = 3;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

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
  const write = async () => {
    const connected = await connectAll(chosen, { options, typed }, line);
    const team = isAsked ? await askTeam(line) : namedTeam;
    const text = configurationText(connected);
    // What is written is what the gateway takes, before anybody starts it.
    const env = { ...line.env, ...Object.fromEntries(typed) };
    orCommandError(() => parseConfiguration(text, 'gateway.yaml', env));
    await writeConfigurationFile(options.output, text, options.replace);
    return { connected, team };
  };
  const { connected, team } = await write().catch(async (error: unknown) => {
    if (typed.size === 0 || !(error instanceof CommandError)) throw error;
    await keepKeys(typed);
    throw new CommandError(
      `${error.message}\nThe keys that were typed and are valid are in ${KEYS_FILE}, where the next init finds them: ${[...typed.keys()].join(', ')}.`,
    );
  });
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

/** Each of those that are chosen. @throws {CommandError} where one cannot be connected, or none is */
async function connectAll(
  chosen: Chosen,
  { options, typed }: { readonly options: Options; readonly typed: Map<string, string> },
  line: InitLine,
): Promise<readonly Connected[]> {
  const connected: Connected[] = [];
  const { region, project, location, resource, 'workspace-id': workspaceId } = options;
  const settings = { region, project, location, resource, workspaceId };
  const given = { typed, models: [...options.model, ...options.deployment], settings };
  for (const { provider, baseUrl } of chosen.providers) {
    const wanted = { name: provider, provider, baseUrl, variable: KEY_VARIABLES[provider], needsKey: true };
    const found = await connectChannel(wanted, given, line);
    if (found !== null) connected.push(found);
  }
  for (const { provider, baseUrl } of chosen.servers) {
    const name = serverName(provider, connected);
    const variable = options['server-key'] ?? usualVariable(name);
    const wanted = { name, provider, baseUrl, variable, needsKey: false };
    const found = await connectChannel(wanted, given, line);
    if (found !== null) connected.push(found);
  }
  if (connected.length === 0) throw new CommandError('Nothing is connected, so nothing was written.');
  return connected;
}

type Options = ReturnType<typeof readArguments>;

function readArguments(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        provider: { type: 'string', multiple: true, default: [] },
        server: { type: 'string', multiple: true, default: [] },
        'server-key': { type: 'string' },
        deployment: { type: 'string', multiple: true, default: [] },
        model: { type: 'string', multiple: true, default: [] },
        region: { type: 'string' },
        project: { type: 'string' },
        location: { type: 'string' },
        resource: { type: 'string' },
        'workspace-id': { type: 'string' },
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
  { provider, server, local }: Options,
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

/** A name that no channel before has. */
function serverName(provider: string, before: readonly Connected[]): string {
  const used = before.filter(({ entry }) => entry.provider === provider).length;
  return used === 0 ? provider : `${provider}-${used + 1}`;
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
