import { lookUp } from '@gateway/contracts/look-up';
import { type ModelKind, PROTOCOLS_OF_KIND, type Protocol } from '../../protocol.ts';
import { routeSpeaks } from '../build/route-speaks.ts';
import type { Channel } from '../configuration.ts';
import type { ModelEntry, RouteEntry } from '../file-schema.ts';
import type { Complaint } from './mistake-list.ts';
import { isShownName } from './shown-name.ts';
import { listed } from './suggest.ts';

/** Families whose rules the services hold as data. An image family can also be given in the configuration. */
const FAMILIES: Readonly<Record<ModelKind, readonly string[]>> = {
  text: [],
  image: ['dall-e-2', 'dall-e-3', 'gpt-image'],
  speech: ['tts-1', 'gpt-4o-mini-tts'],
  transcription: ['whisper-1', 'gpt-4o-transcribe', 'gpt-transcribe', 'gpt-4o-transcribe-diarize'],
  embedding: [],
  rerank: [],
  moderation: [],
  realtime: [],
};

export interface KnownChannel extends Pick<Channel, 'speaks' | 'speaksOf'> {
  /** The protocols that a route may set. */
  readonly possible: readonly Protocol[];
}

/** The channels that models are checked against; null for a channel with its own mistakes. */
export type KnownChannels = ReadonlyMap<string, KnownChannel | null>;

/** Settings that apply to some kinds only. */
const KINDS_OF_SETTING: Readonly<Record<string, readonly ModelKind[]>> = {
  builtInTools: ['text'],
  dropUnavailableTools: ['text'],
  contextWindow: ['text', 'realtime'],
  maxOutputTokens: ['text'],
  quirks: ['text', 'embedding', 'rerank', 'moderation'],
  hedge: ['text'],
  priceFactor: ['text', 'embedding', 'rerank', 'moderation', 'realtime'],
  sameModel: ['embedding', 'rerank', 'moderation'],
  family: ['image', 'speech', 'transcription'],
  maskTransparent: ['image'],
  voices: ['speech'],
  streamFormats: ['speech'],
  formats: ['transcription'],
  maxFileBytes: ['transcription'],
  maxAudioSeconds: ['transcription'],
};

const misplaced = (entry: object, kind: ModelKind, path: readonly (string | number)[]): Complaint[] =>
  Object.keys(entry).flatMap((setting) => {
    const kinds = lookUp(KINDS_OF_SETTING, setting);
    if (kinds === undefined || kinds.includes(kind)) return [];
    const expected = `it only on models of the kind ${kinds.join(' or ')} (this one is ${kind})`;
    return [{ path: [...path, setting], at: 'key' as const, expected }];
  });

export const checkModel = (
  name: string,
  entry: ModelEntry,
  channels: KnownChannels,
): readonly Complaint[] => {
  const complaints = misplaced(entry, entry.kind, []);
  if (name === '' || name.length > 256 || name.includes('**')) {
    const expected = 'a model name or a pattern: up to 256 characters, never two * together';
    complaints.push({ path: [], at: 'key', expected });
  }
  const families = FAMILIES[entry.kind];
  if (typeof entry.family === 'string' && families.length > 0 && !families.includes(entry.family)) {
    const rules = entry.kind === 'image' ? ', or a mapping of its rules' : '';
    complaints.push({
      path: ['family'],
      expected: `one of the families ${listed(families)}${rules}`,
      place: 'closed',
      known: families,
    });
  }
  if (typeof entry.family === 'object' && entry.kind !== 'image') {
    complaints.push({ path: ['family'], expected: `one of the families ${listed(families)}` });
  }
  complaints.push(...checkOneModel(entry));
  const names = [...channels.keys()];
  for (const [index, route] of entry.routes.entries()) {
    complaints.push(...misplaced(route, entry.kind, ['routes', index]));
    if (route.model?.includes('*') && name.split('*').length !== 2)
      complaints.push({
        path: ['routes', index, 'model'],
        expected: 'one name without *: only an entry whose name has one * passes on what that stands for',
      });
    const path = ['routes', index, 'channel'];
    const channel = channels.get(route.channel);
    if (channel === undefined) {
      const expected = `one of the channels ${listed(names.filter(isShownName))}`;
      complaints.push({ path, expected, place: 'closed', known: names });
    } else if (channel !== null) {
      const complaint = checkSpeaks(route, name, entry.kind, channel);
      if (complaint !== null)
        complaints.push({ known: names, ...complaint, path: ['routes', index, ...complaint.path] });
    }
  }
  return complaints;
};

/** What different models make in ways that cannot be compared, so that none may take another one's place. */
const MADE_BY_KIND = { embedding: 'vectors', rerank: 'scores', moderation: 'categories' } as const;

function checkOneModel({ kind, routes, sameModel = false }: ModelEntry): Complaint[] {
  const made = lookUp(MADE_BY_KIND, kind);
  if (sameModel || made === undefined) return [];
  const [first, ...others] = routes.map(bareName);
  const other = others.findIndex((name) => name !== first);
  if (other === -1) return [];
  const expected = `the same model on all routes, since ${made} of different models cannot be mixed; or sameModel: true where these are names of one model`;
  const index = other + 1;
  return [
    { path: routes[index]?.model === undefined ? ['routes', index] : ['routes', index, 'model'], expected },
  ];
}

/** Resellers put the maker before a model's name. */
const bareName = ({ model }: RouteEntry): string | undefined =>
  model === undefined ? undefined : model.slice(model.lastIndexOf('/') + 1).toLowerCase();

function checkSpeaks(
  route: RouteEntry,
  name: string,
  kind: ModelKind,
  channel: KnownChannel,
): Complaint | null {
  const needed = PROTOCOLS_OF_KIND[kind];
  const able = listed(channel.possible.filter((protocol) => needed.includes(protocol)));
  const unable = (route.speaks ?? []).findIndex((protocol) => !channel.possible.includes(protocol));
  if (unable !== -1)
    return {
      path: ['speaks', unable],
      expected: `one of ${able}, which its channel can speak`,
      known: channel.possible,
    };
  const speaks = routeSpeaks(channel, route, name);
  if (speaks === null)
    return { path: ['speaks'], expected: `what this model speaks, of ${able}: its id does not say it` };
  if (needed.some((protocol) => speaks.includes(protocol))) return null;
  return route.speaks === undefined
    ? {
        path: ['channel'],
        expected: `a channel that speaks ${needed.join(' or ')}, as the kind ${kind} needs (this one speaks ${speaks.join(', ')})`,
      }
    : { path: ['speaks'], expected: `${needed.join(' or ')}, as the kind ${kind} needs` };
}
