import { Quirks } from '@gateway/contracts/quirks';
import { libraryOf } from '../libraries/libraries.ts';
import type { Channel, Model, Route } from './configuration.ts';
import type { ModelEntry, RouteEntry } from './file-schema.ts';
import { presetOf } from './presets.ts';

const libraryFormats = ({ library }: Channel): readonly string[] | null =>
  library === null ? null : (libraryOf(library).transcriptions?.formats ?? null);

const buildRoute = (entry: RouteEntry, model: ModelEntry, channel: Channel): Route => ({
  channel,
  model: entry.model ?? null,
  priority: entry.priority ?? 0,
  weight: entry.weight ?? 1,
  quirks: entry.quirks ? Quirks.parse({ ...channel.quirks, ...entry.quirks }) : channel.quirks,
  builtInTools: entry.builtInTools ?? model.builtInTools ?? presetOf(channel.provider).builtInTools,
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
): Model => ({
  pattern,
  isPattern: pattern.includes('*'),
  kind: entry.kind,
  routes: entry.routes.flatMap((route) => {
    const channel = channels.get(route.channel);
    return channel ? [buildRoute(route, entry, channel)] : [];
  }),
  family: entry.family ?? null,
  price: entry.price ?? null,
  dropUnavailableTools: entry.dropUnavailableTools ?? false,
  maskTransparent: entry.maskTransparent ?? 'edit',
  contextWindow: entry.contextWindow ?? null,
  maxOutputTokens: entry.maxOutputTokens ?? null,
});
