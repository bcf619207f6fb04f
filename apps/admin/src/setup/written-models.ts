import { routeSpeaks } from '@gateway/upstream/configuration/build/route-speaks';
import type { Channel } from '@gateway/upstream/configuration/configuration';
import { USUAL_MODELS } from '@gateway/upstream/configuration/environment-configuration';
import type { ModelEntry } from '@gateway/upstream/configuration/file-schema';
import { KNOWN_MODELS } from '@gateway/upstream/prices/known-models';
import { type ModelKind, PROTOCOLS_OF_KIND } from '@gateway/upstream/protocol';

interface WrittenModels {
  readonly models: Readonly<Record<string, ModelEntry>>;
  /** What a person should know of the choice; for a comment. */
  readonly note: string;
}

/** Longer lists are written as one pattern. */
const MAX_NAMES = 40;

/** What a name says of a model that the catalogue does not know; the first row that fits. */
const KINDS_BY_WORD: readonly (readonly [RegExp, ModelKind])[] = [
  [/moderation/i, 'moderation'],
  [/rerank/i, 'rerank'],
  [/embed|\bbge\b|\be5\b|nomic/i, 'embedding'],
  [/whisper|transcri|voxtral/i, 'transcription'],
  [/\btts\b|speech|playai/i, 'speech'],
  [/image|dall-e|imagen|flux|diffusion/i, 'image'],
];

/** Kinds whose models need no rules of a family. */
const KINDS: readonly ModelKind[] = ['text', 'embedding', 'rerank', 'moderation'];

/** Models for what a channel's provider lists: the usual patterns of a company, else each name, else all names below the channel's. */
export function writtenModels(
  channel: Pick<Channel, 'name' | 'provider' | 'speaks'>,
  names: readonly string[],
  taken: ReadonlySet<string>,
): WrittenModels {
  const { name: channelName, provider } = channel;
  const routes = [{ channel: channelName }];
  const listed = `${names.length} ${names.length === 1 ? 'model' : 'models'} listed`;
  const usual = Object.entries(USUAL_MODELS[provider] ?? {}).filter(([pattern]) =>
    names.some((name) => fits(pattern, name)),
  );
  if (usual.length > 0 && usual.every(([pattern]) => !taken.has(pattern)))
    return {
      models: Object.fromEntries(usual.map(([pattern, facts]) => [pattern, { ...facts, routes }])),
      note: `${listed}; the patterns also take in those that come later.`,
    };
  const kinds = names.map((name) => [name, kindOf(channel, name)] as const);
  const usable = kinds.filter(([, kind]) => isUsable(channel, kind));
  const left = kinds.length - usable.length;
  const besides =
    left === 0 ? '' : ` ${left} of other kinds left out: docs/configuration.md says what those need.`;
  if (usable.length > MAX_NAMES)
    return {
      models: { [`${channelName}/*`]: { kind: 'text', routes: [{ channel: channelName, model: '*' }] } },
      note: `${listed}; callers write ${channelName}/ before a name.${besides}`,
    };
  const entries = usable.map(([name, kind]): [string, ModelEntry] =>
    taken.has(name)
      ? [`${channelName}/${name}`, { kind, routes: [{ channel: channelName, model: name }] }]
      : [name, { kind, routes }],
  );
  return { models: Object.fromEntries(entries), note: `${listed}.${besides}` };
}

const isUsable = (channel: Pick<Channel, 'speaks'>, kind: ModelKind): boolean =>
  KINDS.includes(kind) && speaksKind(channel, kind);

/** Whether a name alone says all that a model's entry has to. */
export function canBeWritten(channel: Channel, name: string): boolean {
  const kind = kindOf(channel, name);
  const speaks = routeSpeaks(channel, {}, name);
  return speaks !== null && isUsable({ speaks }, kind);
}

/** Whether a channel can serve models of this kind. */
export const speaksKind = ({ speaks }: Pick<Channel, 'speaks'>, kind: ModelKind): boolean =>
  PROTOCOLS_OF_KIND[kind].some((protocol) => speaks.includes(protocol));

/** What a model does, by its provider's name of it. */
export const kindOf = ({ provider }: Pick<Channel, 'provider'>, name: string): ModelKind =>
  KNOWN_MODELS.find(provider, name)?.kind ?? KINDS_BY_WORD.find(([words]) => words.test(name))?.[1] ?? 'text';

const fits = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
