import type { Environment } from '@gateway/contracts/environment';
import { Quirks, type QuirksInput } from '@gateway/contracts/quirks';
import { Certificates } from '../../connecting/certificates.ts';
import { DIRECT, type Network } from '../../connecting/network.ts';
import { readProxy } from '../../connecting/proxy.ts';
import { type Cooldown, DEFAULT_COOLDOWN } from '../../health/cooldown.ts';
import type { ModelKind } from '../../protocol.ts';
import { buildTimeLimits } from '../../sending/time-limits.ts';
import type { Channel, ChannelBatches } from '../configuration.ts';
import type { ChannelEntry } from '../file-schema.ts';
import type { BatchPaths, Preset } from '../presets/preset.ts';
import { presetFor } from '../presets/presets.ts';
import { buildAccounts } from './build-accounts.ts';
import { buildPlace } from './build-place.ts';

const DEFAULTS = {
  connectMs: 5_000,
  drainMs: 60_000,
  maxConcurrentPerProcess: 4_096,
  maxWaitMs: 1_000,
} as const;

const buildCooldown = (entry: ChannelEntry['cooldown'] = {}): Cooldown | null => {
  if (entry === 'off') return null;
  const { consecutiveFailures, failureRate, minRequests, windowSeconds, restSeconds, maxRestSeconds } = entry;
  return {
    consecutiveFailures: consecutiveFailures ?? DEFAULT_COOLDOWN.consecutiveFailures,
    failureRate: failureRate ?? DEFAULT_COOLDOWN.failureRate,
    minRequests: minRequests ?? DEFAULT_COOLDOWN.minRequests,
    windowMs: milliseconds(windowSeconds) ?? DEFAULT_COOLDOWN.windowMs,
    restMs: milliseconds(restSeconds) ?? DEFAULT_COOLDOWN.restMs,
    maxRestMs: milliseconds(maxRestSeconds) ?? DEFAULT_COOLDOWN.maxRestMs,
  };
};

const milliseconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : seconds * 1000;

/** What the channel sets for all of its models is not changed by what one protocol's models need, or one maker's. */
const withoutSet = (
  { quirksOf = {}, quirksOfModels = [] }: Preset,
  set: QuirksInput = {},
): Pick<Channel, 'quirksOf' | 'quirksOfModels'> => {
  const rest = (quirks: QuirksInput): QuirksInput =>
    Object.fromEntries(Object.entries(quirks).filter(([name]) => !(name in set)));
  return {
    quirksOf: Object.fromEntries(
      Object.entries(quirksOf).map(([protocol, quirks]) => [protocol, rest(quirks)]),
    ),
    quirksOfModels: quirksOfModels.map((row) => ({ ...row, quirks: rest(row.quirks) })),
  };
};

/** A simulator is on this machine, or in the same network. */
const channelNetwork = ({ proxy, caFile, provider }: ChannelEntry, network: Network): Network => {
  const own = proxy === undefined || proxy === 'direct' ? null : (readProxy(proxy) ?? null);
  const isOwn = proxy !== undefined || provider === 'simulator';
  return {
    proxyFor: isOwn ? () => own : network.proxyFor,
    certificates: caFile === undefined ? null : new Certificates(caFile),
  };
};

const BATCH_PRICE_FACTOR = 0.5;

const buildBatches = ({ batches }: ChannelEntry, paths: BatchPaths | null): ChannelBatches | null => {
  if (batches === undefined || paths === null) return null;
  const { priceFactor = BATCH_PRICE_FACTOR } = batches === 'provider' ? {} : batches;
  return { paths, priceFactor };
};

/** A channel from a checked entry, with its preset and all defaults filled in. */
export const buildChannel = (
  name: string,
  entry: ChannelEntry,
  env: Environment,
  network = DIRECT,
): Channel => {
  const preset = presetFor(entry);
  const { batchPaths, ...place } = buildPlace(entry, preset, env);
  const limitsOf = (kind: ModelKind) => buildTimeLimits(kind, entry.timeouts, entry.timeouts?.[kind]);

  return {
    name,
    provider: entry.provider,
    ...place,
    batches: buildBatches(entry, batchPaths),
    speaks: entry.speaks ?? preset.speaks,
    speaksOf: entry.speaks === undefined ? (preset.speaksOf ?? null) : null,
    builtInTools: preset.builtInTools,
    guardrail: entry.guardrail ?? null,
    library: preset.library ?? null,
    network: channelNetwork(entry, network),
    connectMs: entry.timeouts?.connectMs ?? DEFAULTS.connectMs,
    timeLimits: {
      text: limitsOf('text'),
      image: limitsOf('image'),
      speech: limitsOf('speech'),
      transcription: limitsOf('transcription'),
      embedding: limitsOf('embedding'),
      rerank: limitsOf('rerank'),
      moderation: limitsOf('moderation'),
      realtime: limitsOf('realtime'),
    },
    accounts: buildAccounts(entry, preset),
    maxConcurrentPerProcess: entry.maxConcurrentPerProcess ?? DEFAULTS.maxConcurrentPerProcess,
    maxWaitMs: entry.maxWaitMs ?? DEFAULTS.maxWaitMs,
    accountsShareStorage: entry.accountsShareStorage ?? false,
    onDisconnect: entry.onDisconnect ?? 'cancel',
    drainMs: entry.drainMs ?? DEFAULTS.drainMs,
    cooldown: buildCooldown(entry.cooldown),
    forwardUserIds: entry.forwardUserIds ?? false,
    passTraceparent: entry.passTraceparent ?? false,
    quirks: Quirks.parse({ ...preset.quirks, ...entry.quirks }),
    ...withoutSet(preset, entry.quirks),
  };
};
