import { Quirks } from '@gateway/contracts/quirks';
import { libraryOf } from '../../libraries/libraries.ts';
import { PROTOCOLS_OF_KIND, type Protocol } from '../../protocol.ts';
import type { Channel, Fallback, Hedge, Model, Route } from '../configuration.ts';
import type { ModelEntry, RouteEntry } from '../file-schema.ts';
import { routeSpeaks } from './route-speaks.ts';

const libraryFormats = ({ library }: Channel): readonly string[] | null =>
  library === null ? null : (libraryOf(library).transcriptions?.formats ?? null);

const DEFAULTS = { maxAttempts: 8 } as const;

const HEDGE: Hedge = { minDelayMs: 100, maxDelayMs: 30_000, minSamples: 50, maxShare: 0.1 };

const buildHedge = ({ hedge }: ModelEntry): Hedge | null =>
  hedge === undefined
    ? null
    : {
        minDelayMs: hedge.minDelayMs ?? HEDGE.minDelayMs,
        maxDelayMs: hedge.maxDelayMs ?? HEDGE.maxDelayMs,
        minSamples: hedge.minSamples ?? HEDGE.minSamples,
        maxShare: hedge.maxShare ?? HEDGE.maxShare,
      };

/** By default one attempt may take all the time that its channel allows; those after it get what is left. */
const buildFallback = ({ fallback, kind }: ModelEntry, channels: readonly Channel[]): Fallback => ({
  maxAttempts: fallback?.maxAttempts ?? DEFAULTS.maxAttempts,
  totalMs: fallback?.totalMs ?? Math.max(0, ...channels.map(({ timeLimits }) => timeLimits[kind].totalMs)),
});

const buildQuirks = (
  { quirks, quirksOf, quirksOfModels }: Channel,
  speaks: readonly Protocol[],
  id: string,
  own: RouteEntry['quirks'],
): Quirks => {
  const further = speaks.flatMap((protocol) => {
    const row = quirksOfModels.find((one) => one.protocol === protocol && one.ids.test(id));
    return [quirksOf[protocol] ?? [], row?.quirks ?? []].flat();
  });
  if (further.length === 0 && own === undefined) return quirks;
  return Quirks.parse(Object.assign({ ...quirks }, ...further, own));
};

/** The protocols of a route that its model's kind is reached by. */
const spokenBy = ({ kind }: ModelEntry, speaks: readonly Protocol[]): readonly Protocol[] =>
  speaks.filter((protocol) => PROTOCOLS_OF_KIND[kind].includes(protocol));

const buildRoute = (
  entry: RouteEntry,
  model: ModelEntry,
  pattern: string,
  { channel, speaks, fallback, hedge }: Pick<Route, 'channel' | 'speaks' | 'fallback' | 'hedge'>,
): Route => ({
  channel,
  speaks,
  model: entry.model ?? null,
  priceFactor: entry.priceFactor ?? 1,
  priority: entry.priority ?? 0,
  weight: entry.weight ?? 1,
  fallback,
  hedge,
  quirks: buildQuirks(channel, spokenBy(model, speaks), entry.model ?? pattern, entry.quirks),
  builtInTools: entry.builtInTools ?? model.builtInTools ?? channel.builtInTools,
  formats: entry.formats ?? model.formats ?? libraryFormats(channel),
  maxFileBytes: entry.maxFileBytes ?? model.maxFileBytes ?? null,
  maxAudioSeconds: entry.maxAudioSeconds ?? model.maxAudioSeconds ?? null,
  streamFormats: entry.streamFormats ?? model.streamFormats ?? (channel.library === null ? null : ['audio']),
  voices: entry.voices ?? model.voices ?? null,
  maskTransparent: entry.maskTransparent ?? null,
});

/** A model from an entry that was checked against these channels. */
export const buildModel = (
  pattern: string,
  entry: ModelEntry,
  channels: ReadonlyMap<string, Channel>,
): Model => {
  const served = entry.routes.flatMap((route) => {
    const channel = channels.get(route.channel);
    return channel ? [{ route, channel }] : [];
  });
  const hedge = buildHedge(entry);
  const fallback = buildFallback(
    entry,
    served.map(({ channel }) => channel),
  );
  return {
    pattern,
    isPattern: pattern.includes('*'),
    kind: entry.kind,
    routes: served.map(({ route, channel }) => {
      const speaks = routeSpeaks(channel, route, pattern) ?? [];
      return buildRoute(route, entry, pattern, { channel, speaks, fallback, hedge });
    }),
    family: entry.family ?? null,
    price: entry.price ?? null,
    dropUnavailableTools: entry.dropUnavailableTools ?? false,
    maskTransparent: entry.maskTransparent ?? 'edit',
    contextWindow: entry.contextWindow ?? null,
    maxOutputTokens: entry.maxOutputTokens ?? null,
  };
};
