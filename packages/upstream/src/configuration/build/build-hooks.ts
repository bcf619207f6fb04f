import { type AuthSettings, secretsOf } from '../auth-entry.ts';
import { ChannelSecrets } from '../channel-secrets.ts';
import type { HookSettings } from '../hooks.ts';
import type { HookEntry, HookKind } from '../hooks-entry.ts';

const DEFAULT_WINDOW_CHARS = 800;
const DEFAULT_OVERLAP_CHARS = 200;
const DEFAULT_TIMEOUT_MS = 5000;
const DEFAULT_MAX_CHARS = 200_000;

/** What is known of a kind of hook. */
interface KindOfHook {
  /** Null: the entry names it. */
  readonly baseUrl: (entry: HookEntry) => string | null;
  readonly path: (entry: HookEntry) => string;
  readonly key: { readonly header: string; readonly prefix: string };
}

export const KINDS_OF_HOOK: Readonly<Record<HookKind, KindOfHook>> = {
  generic: {
    baseUrl: () => null,
    path: () => '/beta/litellm_basic_guardrail_api',
    key: { header: 'x-api-key', prefix: '' },
  },
  moderation: {
    baseUrl: () => 'https://api.openai.com/v1',
    path: () => '/moderations',
    key: { header: 'authorization', prefix: 'Bearer ' },
  },
  bedrock: {
    baseUrl: ({ region }) =>
      region === undefined ? null : `https://bedrock-runtime.${region}.amazonaws.com`,
    path: ({ guardrail }) =>
      `/guardrail/${encodeURIComponent(guardrail?.id ?? '')}/version/${guardrail?.version}/apply`,
    key: { header: 'authorization', prefix: 'Bearer ' },
  },
};

/** A hook from its checked entry. */
export function buildHook(name: string, entry: HookEntry): HookSettings {
  const { kind, apiKey, auth, headers = {}, windowChars = DEFAULT_WINDOW_CHARS } = entry;
  const { baseUrl, path, key } = KINDS_OF_HOOK[kind];
  const url = new URL(entry.baseUrl ?? baseUrl(entry) ?? '');
  const sent = [
    ...(apiKey === undefined ? [] : [[key.header, key.prefix + apiKey] as const]),
    ...Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value] as const),
  ];
  const values = [apiKey ?? [], auth === undefined ? [] : secretsOf(auth), ...Object.values(headers)].flat();
  return {
    name,
    kind,
    origin: url.origin,
    path: url.pathname.replace(/\/+$/, '') + path(entry),
    secrets: new ChannelSecrets([...new Map(sent)], values, auth ? authOf(auth, entry) : null),
    input: entry.input ?? 'before',
    output: entry.output ?? 'off',
    windowChars,
    overlapChars: entry.overlapChars ?? Math.min(DEFAULT_OVERLAP_CHARS, Math.floor(windowChars / 2)),
    timeoutMs: entry.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    onFailure: entry.onFailure ?? 'block',
    maxChars: entry.maxChars ?? DEFAULT_MAX_CHARS,
    rules:
      entry.rules?.map(({ keys, teams, models }) => ({
        keys: keys ?? null,
        teams: teams ?? null,
        models: models ?? null,
      })) ?? null,
    include: entry.include ?? [],
    params: entry.params ?? {},
    model: entry.model ?? 'omni-moderation-latest',
  };
}

function authOf(auth: NonNullable<HookEntry['auth']>, { region = '' }: HookEntry): AuthSettings | null {
  return auth.type === 'aws'
    ? { ...auth, region: auth.region ?? region, service: auth.service ?? 'bedrock' }
    : null;
}
