import type { AuthEntry } from '@gateway/upstream/configuration/auth-entry';
import { EXPECTED, type SettingName } from '@gateway/upstream/configuration/channel-settings';
import type { Channel } from '@gateway/upstream/configuration/configuration';
import { ConfigurationError } from '@gateway/upstream/configuration/mistakes/configuration-error';
import type { Provider } from '@gateway/upstream/configuration/presets/presets';
import { type ListedModels, listModels } from '@gateway/upstream/listing/list-models';
import { type TriedModel, tryModel } from '@gateway/upstream/listing/try-model';
import { CommandError } from '../cli/admin-client.ts';
import type { CommandLine } from '../cli/run-command.ts';
import { printable } from '../cli/texts/printable.ts';
import { describedChannel } from './described-channel.ts';
import { machineIdentity, placeSettings, reference } from './offers.ts';
import type { Terminal } from './terminal.ts';
import { canBeWritten } from './written-models.ts';

export type InitLine = Pick<CommandLine, 'env' | 'print' | 'terminal' | 'fetch' | 'userName'>;

/** An entry of the configuration file's `channels`. */
interface WrittenChannel extends Partial<Record<SettingName, string>> {
  readonly provider: Provider;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly auth?: AuthEntry;
}

export interface Connected {
  readonly name: string;
  readonly entry: WrittenChannel;
  readonly channel: Channel;
  readonly names: readonly string[];
}

interface Wanted {
  /** Of the channel. */
  readonly name: string;
  readonly provider: Provider;
  readonly baseUrl?: string | undefined;
  /** The variable that has the key. */
  readonly variable: string;
  /** Otherwise it is asked without one, and with one if it refuses that. */
  readonly needsKey: boolean;
}

interface Given {
  /** The keys that were typed, by their variables. */
  readonly typed: Map<string, string>;
  /** Names of models or deployments, for providers that list none. */
  readonly models: readonly string[];
  /** Where at its cloud a channel is. */
  readonly settings: Readonly<Partial<Record<SettingName, string | undefined>>>;
}

const MAX_TRIES = 3;
const NOTHING_WRITTEN = 'No configuration was written.';
/** What stands between quotes in a file of variables. */
const KEY = /^[\x21-\x26\x28-\x7e]{1,4096}$/;

/** Null: the person at the terminal leaves it out. @throws {CommandError} where it cannot be connected */
export async function connectChannel(
  wanted: Wanted,
  given: Given,
  { env, terminal, print }: InitLine,
): Promise<Connected | null> {
  const { name, provider, baseUrl, variable } = wanted;
  const place = await placeOf(wanted, given.settings, terminal);
  const entry = { provider, ...(baseUrl !== undefined && { baseUrl }), ...place };
  const identity = machineIdentity(provider, env);
  let hasKey = wanted.needsKey;
  let key = env[variable] ?? '';
  for (let tries = 1; ; tries += 1) {
    if (hasKey && key === '') key = await askKey(wanted, identity !== null, terminal);
    if (hasKey && key === '' && identity === null) return null;
    const byIdentity = hasKey && key === '';
    const written = {
      ...entry,
      ...(hasKey && !byIdentity && { apiKey: reference(variable) }),
      ...(byIdentity && identity !== null && { auth: identity }),
    };
    const channel = channelOf(name, written, { ...env, [variable]: key });
    const { found, names } = await ask(channel, given.models, terminal);
    if ('reason' in found) {
      const trouble = `${name}: ${found.reason}`;
      const isRefused = found.outcome === 'refused';
      if (isRefused && !hasKey) {
        hasKey = true;
        continue;
      }
      const orKey = byIdentity ? `\nOr set a key in ${variable}.` : '';
      if (terminal === undefined || tries >= MAX_TRIES || !isRefused || byIdentity)
        throw new CommandError(`${trouble}${orKey}\n${NOTHING_WRITTEN}`);
      print(printable(trouble));
      key = '';
      continue;
    }
    if (names.length === 0)
      throw new CommandError(`${baseUrl ?? name} has no model yet: load one there first. ${NOTHING_WRITTEN}`);
    if (hasKey && key !== '' && key !== env[variable]) given.typed.set(variable, key);
    const proof = byIdentity ? 'the credentials of this machine are' : 'the key is';
    const isValid = hasKey && found.outcome !== 'unlisted' ? `${proof} valid; ` : '';
    print(printable(`${name}: ${isValid}${countOf(names.length)}.`));
    return { name, entry: written, channel, names };
  }
}

/** What its provider says of the channel, and the names of its models that callers may use. */
async function ask(
  channel: Channel,
  given: readonly string[],
  terminal: Terminal | undefined,
): Promise<{ readonly found: ListedModels | TriedModel; readonly names: readonly string[] }> {
  const [account] = channel.accounts;
  const found = await listModels(channel, account);
  if (found.outcome === 'listed') return { found, names: found.names };
  if ('reason' in found) return { found, names: [] };
  const names = await namedModels(channel, found.outcome === 'accepted', given, terminal);
  const unwritten = names.find((name) => !canBeWritten(channel, name));
  if (unwritten !== undefined)
    throw new CommandError(
      `${channel.name}: ${unwritten} is not of text, embeddings or rerank by its id, or the id does not say what it speaks: write its entry yourself, as docs/clouds shows. ${NOTHING_WRITTEN}`,
    );
  if (found.outcome === 'accepted') return { found, names };
  const tried: TriedModel[] = [];
  for (const name of names) {
    const one = await tryModel(channel, account, { model: name });
    if ('reason' in one) return { found: { ...one, reason: `${name}: ${one.reason}` }, names };
    tried.push(one);
  }
  return { found: tried.find(({ outcome }) => outcome === 'accepted') ?? found, names };
}

/** Where at its cloud a channel is: from the options, else asked. */
async function placeOf(
  { name, provider, baseUrl }: Wanted,
  settings: Given['settings'],
  terminal: Terminal | undefined,
): Promise<Partial<Record<SettingName, string>>> {
  const place: Partial<Record<SettingName, string>> = {};
  for (const setting of placeSettings(provider, baseUrl !== undefined)) {
    const value = settings[setting] ?? (await terminal?.ask(`For ${name}, ${EXPECTED[setting]}`, '')) ?? '';
    if (value === '')
      throw new CommandError(
        `${name} needs --${setting === 'workspaceId' ? 'workspace-id' : setting}: ${EXPECTED[setting]}. ${NOTHING_WRITTEN}`,
      );
    place[setting] = value;
  }
  return place;
}

/** @param hasIdentity whether a machine of its cloud needs none */
async function askKey(
  { name, variable }: Wanted,
  hasIdentity: boolean,
  terminal: Terminal | undefined,
): Promise<string> {
  if (terminal === undefined && hasIdentity) return '';
  if (terminal === undefined)
    throw new CommandError(
      `There is no key for ${name}: set ${variable} in the environment or in .env. ${NOTHING_WRITTEN}`,
    );
  const otherwise = hasIdentity ? 'use the credentials of this machine' : `leave ${name} out`;
  const key = await terminal.askSecret(`Key of ${name}, which is not shown (empty: ${otherwise})`);
  if (key !== '' && !KEY.test(key))
    throw new CommandError(
      `That is no key: it has spaces, quotes or other characters that keys do not have. ${NOTHING_WRITTEN}`,
    );
  return key;
}

/** The names at a provider that does not list them: those of an option are for every such provider, or for the one before the first `=`. */
async function namedModels(
  { name }: Channel,
  areDeployments: boolean,
  given: readonly string[],
  terminal: Terminal | undefined,
): Promise<readonly string[]> {
  const own = given.flatMap((text) => {
    const [, provider, model] = /^([a-z-]+)=(.+)$/.exec(text) ?? [undefined, name, text];
    return provider === name && model ? [model] : [];
  });
  if (own.length > 0) return own;
  const question = areDeployments
    ? `Deployments of ${name} that callers may use, such as gpt-5.2`
    : `Models of ${name} that callers may use, by their ids there`;
  const answer = await terminal?.ask(question, '');
  const names = wordsIn(answer ?? '');
  if (names.length > 0) return names;
  throw new CommandError(
    areDeployments
      ? `${name}: the credentials are valid, and deployments are not listed: name each with --deployment NAME. ${NOTHING_WRITTEN}`
      : `${name} lists no models: name each that callers may use with --model NAME; it is tried. ${NOTHING_WRITTEN}`,
  );
}

export const wordsIn = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '');

const countOf = (count: number): string => `${count} ${count === 1 ? 'model' : 'models'}`;

/** The channel as the gateway will have it. */
function channelOf(name: string, entry: WrittenChannel, env: InitLine['env']): Channel {
  return orCommandError(() => describedChannel(name, entry, env));
}

export function orCommandError<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw error instanceof ConfigurationError
      ? new CommandError(`${error.message}\n${NOTHING_WRITTEN}`)
      : error;
  }
}
