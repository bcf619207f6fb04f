import { Quirks } from '@gateway/contracts/quirks';
import type { Operation } from '../protocol.ts';
import { ChannelSecrets } from './channel-secrets.ts';
import type { Channel } from './configuration.ts';
import type { ChannelEntry } from './file-schema.ts';
import { presetOf } from './presets.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULTS = {
  connectMs: 5_000,
  idleMs: 60_000,
  totalMs: 600_000,
  maxConcurrent: 4_096,
  drainMs: 60_000,
} as const;

const operationNames = (paths: Readonly<Partial<Record<Operation, string>>>): Operation[] =>
  Object.keys(paths).filter((name): name is Operation => name in paths);

/** A channel from a checked entry, with its preset and all defaults filled in. */
export const buildChannel = (name: string, entry: ChannelEntry, env: Environment): Channel => {
  const preset = presetOf(entry.provider);
  const fromEnvironment = preset.baseUrlVariable ? env[preset.baseUrlVariable] : undefined;
  const url = new URL(entry.baseUrl ?? (fromEnvironment || preset.baseUrl || ''));
  const basePath = url.pathname.replace(/\/+$/, '') || preset.basePath || '';
  const paths: Partial<Record<Operation, string>> = {};
  for (const operation of operationNames(preset.paths)) {
    paths[operation] = basePath + preset.paths[operation];
  }

  const headers = new Map<string, string>([['accept-encoding', 'identity']]);
  const apiKey = entry.apiKey ?? preset.key.fallback;
  if (apiKey !== undefined) headers.set(preset.key.header, preset.key.prefix + apiKey);
  for (const [header, value] of Object.entries(entry.headers ?? {})) headers.set(header.toLowerCase(), value);
  const secretValues = [entry.apiKey ?? '', ...Object.values(entry.headers ?? {})];

  return {
    name,
    provider: entry.provider,
    origin: url.origin,
    paths,
    speaks: entry.speaks ?? preset.speaks,
    library: preset.library ?? null,
    timeouts: {
      connectMs: entry.timeouts?.connectMs ?? DEFAULTS.connectMs,
      firstOutputMs: entry.timeouts?.firstOutputMs ?? null,
      idleMs: entry.timeouts?.idleMs ?? DEFAULTS.idleMs,
      totalMs: entry.timeouts?.totalMs ?? DEFAULTS.totalMs,
    },
    maxConcurrent: entry.maxConcurrent ?? DEFAULTS.maxConcurrent,
    onDisconnect: entry.onDisconnect ?? 'cancel',
    drainMs: entry.drainMs ?? DEFAULTS.drainMs,
    forwardUserIds: entry.forwardUserIds ?? false,
    quirks: Quirks.parse({ ...preset.quirks, ...entry.quirks }),
    // Short configured values, such as "1", are no secrets and would be cut out of every message.
    secrets: new ChannelSecrets(
      [...headers],
      secretValues.filter((value) => value.length >= 8),
    ),
  };
};
