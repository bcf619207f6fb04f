import { type AuthEntry, type AuthSettings, secretsOf } from '../auth-entry.ts';
import { ChannelSecrets } from '../channel-secrets.ts';
import type { Account } from '../configuration.ts';
import type { AccountEntry, ChannelEntry } from '../file-schema.ts';
import { filled, unfilled } from '../presets/place.ts';
import type { Preset } from '../presets/preset.ts';
import { placeWords } from './build-place.ts';

/** The account of a channel that has one key, or none. */
const ONLY_ACCOUNT = 'default';
/** Shorter configured values, such as "1", are no secrets and would be cut out of every message. */
const MIN_SECRET_CHARS = 8;

/** The accounts of a channel from its checked entry: one for each key. */
export const buildAccounts = (entry: ChannelEntry, preset: Preset): readonly [Account, ...Account[]] => {
  const keys = Object.entries(entry.apiKeys ?? {}).map(([name, key]) => ({
    name,
    ...(typeof key === 'string' ? { apiKey: key } : key),
  }));
  const configured = Object.entries(entry.headers ?? {}).map(
    ([name, value]) => [name.toLowerCase(), value] as const,
  );
  const words = placeWords(entry, preset);
  const ofPreset = Object.entries(preset.headers ?? {})
    .filter(([, template]) => unfilled(template, words).length === 0)
    .map(([name, template]) => [name, filled(template, words)] as const);
  const values = [
    ...[entry, ...keys].flatMap(({ apiKey, auth }) => [apiKey ?? [], auth ? secretsOf(auth) : []].flat()),
    ...Object.values(entry.headers ?? {}),
  ];
  const secretValues = values.filter((value) => value.length >= MIN_SECRET_CHARS);

  const build = (name: string, { apiKey, auth, weight, maxConcurrent }: AccountEntry): Account => {
    const headers = new Map<string, string>([['accept-encoding', 'identity']]);
    if (apiKey !== undefined) headers.set(preset.key.header, preset.key.prefix + apiKey);
    for (const [header, value] of ofPreset) headers.set(header, value);
    for (const [header, value] of configured) headers.set(header, value);
    return {
      name,
      weight: weight ?? 1,
      maxConcurrent: maxConcurrent ?? entry.maxConcurrent ?? null,
      secrets: new ChannelSecrets([...headers], secretValues, auth ? authOf(auth, preset, entry) : null),
    };
  };

  const [first, ...others] = keys;
  if (first !== undefined) return [build(first.name, first), ...others.map((key) => build(key.name, key))];
  const { auth, apiKey = auth === undefined ? preset.key.fallback : undefined } = entry;
  return [build(ONLY_ACCOUNT, { apiKey, auth })];
};

/** What the entry leaves to its preset. An entry was checked to have the rest. */
function authOf(auth: AuthEntry, preset: Preset, { region = '' }: ChannelEntry): AuthSettings {
  const { entraScope = '', awsService = '' } = preset.auth ?? {};
  if (auth.type === 'entra') return { ...auth, scope: auth.scope ?? entraScope };
  if (auth.type === 'aws')
    return { ...auth, region: auth.region ?? region, service: auth.service ?? awsService };
  return auth;
}
