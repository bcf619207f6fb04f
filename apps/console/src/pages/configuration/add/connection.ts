import type { Provider, ProviderTrialBody } from '../../../api/types.ts';

type Settings = NonNullable<ProviderTrialBody['settings']>;
export type SettingName = keyof Settings;

/** The channel that somebody is about to add, as the form has it. */
export interface Connection {
  readonly provider: Provider;
  /** Of the channel. */
  readonly name: string;
  readonly baseUrl: string;
  readonly settings: Settings;
  /** Where the configuration finds the key: in itself, where it is sealed, or in a variable; or the machine's own credentials in its place. */
  readonly holds: 'key' | 'variable' | 'identity';
  /** To be tried; with `holds: 'key'` also the one that is stored. */
  readonly key: string;
  readonly variable: string;
  /** The model that is asked where the provider lists none. */
  readonly model: string;
}

interface NewConnection {
  /** Whether the configuration can hold a key. */
  readonly isStored: boolean;
  /** The names of channels that there are. */
  readonly taken: readonly string[];
  readonly baseUrl: string | undefined;
}

export const connectionTo = (
  provider: Provider,
  { isStored, taken, baseUrl = '' }: NewConnection,
): Connection => ({
  provider,
  name: freeName(provider.name, taken),
  baseUrl,
  settings: {},
  holds: isStored ? 'key' : 'variable',
  key: '',
  variable: provider.apiKey === 'required' ? provider.variable : '',
  model: '',
});

function freeName(name: string, taken: readonly string[]): string {
  let free = name;
  for (let number = 2; taken.includes(free); number += 1) free = `${name}-${number}`;
  return free;
}

const NAMES: readonly SettingName[] = ['region', 'project', 'location', 'resource', 'workspaceId'];

/** The settings that this kind of provider needs, of those that are texts. */
export const settingsOf = ({ settings }: Provider): readonly SettingName[] =>
  NAMES.filter((name) => settings.includes(name));

const placeOf = ({ baseUrl, settings }: Connection) => ({
  ...(baseUrl.trim() !== '' && { baseUrl: baseUrl.trim() }),
  filled: Object.fromEntries(Object.entries(settings).filter(([, text]) => text !== '')),
});

/** What the provider is asked with. */
export function trialOf(connection: Connection): ProviderTrialBody {
  const { provider, name, key, variable, holds, model } = connection;
  const { filled, ...place } = placeOf(connection);
  return {
    name: name.trim(),
    provider: provider.name,
    ...place,
    ...(Object.keys(filled).length > 0 && { settings: filled }),
    ...(model.trim() !== '' && { model: model.trim() }),
    ...(holds === 'identity' && { identity: true as const }),
    ...(holds !== 'identity' && key.trim() !== '' && { key: key.trim() }),
    ...(holds === 'variable' && variable.trim() !== '' && { variable: variable.trim() }),
  };
}

/** The entry of the configuration's `channels`. */
export function channelEntryOf(connection: Connection): Readonly<Record<string, unknown>> {
  const { provider, key, variable, holds } = connection;
  const { filled, ...place } = placeOf(connection);
  if (holds === 'identity')
    return { provider: provider.name, ...filled, ...place, auth: machineAuth(provider) };
  const reference = variable.trim() === '' ? '' : `\${${variable.trim()}}`;
  // A key that looks like a variable is none.
  const apiKey = holds === 'variable' ? reference : key.trim().replaceAll('${', '$$${');
  return { provider: provider.name, ...filled, ...place, ...(apiKey !== '' && { apiKey }) };
}

/** The credentials that a cloud gives the machine. */
const machineAuth = ({ identity: type }: Provider) =>
  type === 'entra' ? { type, managedIdentity: true } : { type };
