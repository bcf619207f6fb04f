/**
 * Makes the price catalogue of packages/upstream from the data that npm's @pydantic/genai-prices bundles, and from prices.yaml for what that
 * lacks:  node scripts/update-prices.ts. To be run after either has changed; a test holds the file against both.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Price } from '@gateway/contracts/models/price';
import { PriceCatalogue, type PricedModel } from '@gateway/upstream/prices/catalogue-schema';
import type { ModelKind } from '@gateway/upstream/protocol';
import {
  type ConditionalPrice,
  findProvider,
  type MatchLogic,
  type ModelInfo,
  type ModelPrice,
} from '@pydantic/genai-prices';
import { parse } from 'yaml';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '..');
const CATALOGUE = join(ROOT, 'packages/upstream/src/prices/catalogue.json');
const PACKAGE = '@pydantic/genai-prices';

/** The providers that presets of channels lead to. */
const PROVIDERS = [
  ...['openai', 'anthropic', 'azure', 'google', 'mistral', 'groq', 'deepseek', 'openrouter', 'x-ai'],
  ...['cohere', 'voyageai'],
] as const;
/** Not listed: names that a team chooses itself, the hundreds of names of a reseller, and models of other APIs. */
const NOT_LISTED: Readonly<Record<string, RegExp>> = {
  azure: /^/,
  openrouter: /^/,
  google: /^(?!gemini)/,
  openai: /^gpt-oss/,
  // The preset calls its endpoints for search alone.
  cohere: /^(?!embed|rerank)/,
  // Its request is another one: texts in groups.
  voyageai: /context/,
};

/** One entry of prices.yaml. */
const OwnEntry = z.strictObject({
  provider: z.enum(PROVIDERS),
  source: z.url({ protocol: /^https$/ }),
  read: z.iso.date(),
  contextWindow: z.int().min(1).optional(),
  price: Price.refine((price) => Object.keys(price).length > 0, 'a price without a number'),
});
export const OwnPrices = z.record(z.string(), OwnEntry);

/** Its section about tools. */
const OwnTools = z.partialRecord(
  z.enum(PROVIDERS),
  z.strictObject({
    sources: z.array(z.url({ protocol: /^https$/ })).min(1),
    read: z.iso.date(),
    perThousandToolCalls: Price.shape.perThousandToolCalls.unwrap(),
  }),
);
const OwnFile = z.object({ tools: OwnTools }).catchall(z.unknown());

const KINDS: readonly (readonly [RegExp, ModelKind])[] = [
  [/transcribe|whisper/, 'transcription'],
  [/realtime/, 'realtime'],
  [/tts/, 'speech'],
  [/image|dall-e/, 'image'],
  [/moderation/, 'moderation'],
  [/rerank/, 'rerank'],
  [/embed|^voyage-/, 'embedding'],
];
/** Models for other endpoints, deprecated ones, and single snapshots. */
const NOT_FOR_CALLERS =
  /moderation|realtime|live|audio|computer-use|instruct|guard|ocr|video|voice|omni|vision|-beta$|-chat(-latest)?$|-high$|^ft:|\.ft-|:|@|ada$|babbage|curie|davinci/;
const RETIRED =
  /^(gpt-3|gpt-4($|-)|gpt-4\.5|claude-(v?[123])|gemini-(1|pro|flash-1)|gemma|o1-(mini|preview))/;
const SNAPSHOT = /\d{4}-\d{2}-\d{2}|-\d{8}|-\d{4}$|-\d{2}-\d{2}$|-\d{3}$/;

const kindOf = (id: string): ModelKind => KINDS.find(([pattern]) => pattern.test(id))?.[1] ?? 'text';
/** For search a model goes by one name, which its vectors are bound to; it may end like a snapshot's. */
const isForSearch = (name: string): boolean => ['embedding', 'rerank'].includes(kindOf(name));
/** The package has previews that OpenAI no longer has. */
const isRealtime = (name: string): boolean => /^gpt-realtime/.test(name) && !SNAPSHOT.test(name);
const isForCallers = (name: string): boolean =>
  isForSearch(name) ||
  isRealtime(name) ||
  (!NOT_FOR_CALLERS.test(name) && !RETIRED.test(name) && !SNAPSHOT.test(name));

/** The catalogue for that day. */
export function makeCatalogue(
  version: string,
  ownPrices: z.infer<typeof OwnPrices>,
  day: string,
  tools = ownTools(),
): PriceCatalogue {
  const providers = PROVIDERS.map((provider): [string, PricedModel[]] => {
    const models = findProvider({ providerId: provider })?.models ?? [];
    const bundled = models.flatMap((model) => pricedModel(model, provider, day));
    const own = Object.entries(ownPrices).flatMap(([id, entry]) =>
      entry.provider === provider ? [ownModel(id, entry)] : [],
    );
    return [provider, [...own, ...bundled]];
  });
  return PriceCatalogue.parse({
    source: `${PACKAGE} ${version} and prices.yaml`,
    providers: Object.fromEntries(providers),
    tools,
  });
}

const ownModel = (id: string, { price, contextWindow }: z.infer<typeof OwnEntry>): PricedModel => ({
  id,
  regex: [`^${escaped(id)}-\\d{8}$`],
  price,
  ...(contextWindow !== undefined && { contextWindow }),
  kind: kindOf(id),
  listed: [id],
});

function pricedModel(model: ModelInfo, provider: string, day: string): PricedModel[] {
  const match = namesOf(model.match);
  const price = dearestFrom(model.prices, day, kindOf(model.id));
  if (price === null) return [];
  const versions = (match.equals ?? []).filter((name) => name.startsWith(`${model.id}-`));
  const names = [model.id, ...(isForSearch(model.id) ? [] : versions)];
  const isListed = (name: string) => isForCallers(name) && !NOT_LISTED[provider]?.test(name);
  const listed = model.deprecated ? [] : [...new Set(names)].filter(isListed);
  return [
    {
      id: model.id,
      ...match,
      price,
      ...(model.context_window !== undefined && { contextWindow: model.context_window }),
      ...(listed.length > 0 && { kind: kindOf(model.id), listed }),
    },
  ];
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

type Names = Pick<PricedModel, 'equals' | 'startsWith' | 'endsWith' | 'contains' | 'regex'>;

/** The package's conditions as lists, each list in lower case; names that must meet several of them are one regular expression. */
function namesOf(match: MatchLogic): Names {
  if ('or' in match) {
    const all = match.or.map(namesOf);
    const joined = (['equals', 'startsWith', 'endsWith', 'contains', 'regex'] as const).map((list) => [
      list,
      all.flatMap((names) => names[list] ?? []),
    ]);
    return Object.fromEntries(joined.filter(([, names]) => names?.length !== 0));
  }
  if ('and' in match) return { regex: [`^${match.and.map((one) => `(?=${regexOf(one)})`).join('')}`] };
  if ('equals' in match) return { equals: [match.equals.toLowerCase()] };
  if ('starts_with' in match) return { startsWith: [match.starts_with.toLowerCase()] };
  if ('ends_with' in match) return { endsWith: [match.ends_with.toLowerCase()] };
  if ('contains' in match) return { contains: [match.contains.toLowerCase()] };
  return { regex: [match.regex] };
}

function regexOf(match: MatchLogic): string {
  if ('or' in match) return match.or.map(regexOf).join('|');
  if ('and' in match) return match.and.map((one) => `(?=${regexOf(one)})`).join('');
  if ('equals' in match) return `${escaped(match.equals.toLowerCase())}$`;
  if ('starts_with' in match) return escaped(match.starts_with.toLowerCase());
  if ('ends_with' in match) return `.*${escaped(match.ends_with.toLowerCase())}$`;
  if ('contains' in match) return `.*${escaped(match.contains.toLowerCase())}`;
  return match.regex;
}

/** Of prices by day or hour, the highest one on that day or later: a `price` cannot change by itself. */
function dearestFrom(prices: ConditionalPrice[] | ModelPrice, day: string, kind: ModelKind): Price | null {
  const all = Array.isArray(prices) ? prices : [{ prices }];
  const startOf = ({ constraint }: ConditionalPrice): string =>
    constraint?.type === 'start_date' ? constraint.start_date : '';
  const inForce = all.map(startOf).filter((start) => start <= day);
  const latest = inForce.toSorted().at(-1) ?? '';
  const candidates = all
    .filter((one) => one.constraint?.type === 'time_of_date' || startOf(one) >= latest)
    .flatMap((one) => toPrice(one.prices, kind) ?? []);
  const sum = ({ inputPerMTok = 0, outputPerMTok = 0 }: Price): number => inputPerMTok + outputPerMTok;
  return candidates.toSorted((one, other) => sum(other) - sum(one))[0] ?? null;
}

/** Members of a price that count tokens. For media, the highest price of text, image and sound: only realtime's usage distinguishes them. */
function tokenKeys(kind: ModelKind) {
  const isMedia = ['image', 'speech', 'transcription'].includes(kind);
  return {
    inputPerMTok: ['input_mtok', ...(isMedia ? ['input_image_mtok', 'input_audio_mtok'] : [])],
    cachedInputPerMTok: isMedia ? [] : ['cache_read_mtok'],
    cacheWritePerMTok: ['cache_write_mtok'],
    outputPerMTok: ['output_mtok', ...(isMedia ? ['output_image_mtok', 'output_audio_mtok'] : [])],
    reasoningPerMTok: ['output_reasoning_mtok'],
    ...(kind === 'realtime' && {
      audioInputPerMTok: ['input_audio_mtok'],
      cachedAudioInputPerMTok: ['cache_audio_read_mtok'],
      imageInputPerMTok: ['input_image_mtok'],
      cachedImageInputPerMTok: ['cache_image_read_mtok'],
      audioOutputPerMTok: ['output_audio_mtok'],
    }),
  };
}

/** The package's data does not use its own class for tiers. */
const Amount = z.union([
  z.number(),
  z.object({ base: z.number(), tiers: z.array(z.object({ start: z.int(), price: z.number() })) }),
]);
type Amount = z.infer<typeof Amount>;
type Read = (value: Amount | undefined) => number | undefined;
const base: Read = (value) => (typeof value === 'object' ? value.base : value);
/** Few have more than one bound; then everything above the first has the highest price. */
const above: Read = (value) =>
  typeof value === 'object' ? Math.max(value.base, ...value.tiers.map(({ price }) => price)) : value;

/** Null if a usage record has no count for any of its prices. */
function toPrice(modelPrice: ModelPrice, kind: ModelKind): Price | null {
  const prices = z.record(z.string(), Amount).parse(modelPrice);
  const read = (by: Read): Record<string, number> =>
    Object.fromEntries(
      Object.entries(tokenKeys(kind)).flatMap(([name, keys]) => {
        const found = keys.flatMap((key) => by(prices[key]) ?? []);
        return found.length === 0 ? [] : [[name, Math.max(...found)]];
      }),
    );
  const bounds = Object.values(prices).flatMap((value) =>
    typeof value === 'object' ? value.tiers.map(({ start }) => start) : [],
  );
  const hours = base(prices.input_audio_hours ?? prices.audio_hours);
  const characters = base(prices.input_mchars);
  const requests = base(prices.requests_kcount);
  const price = Price.parse({
    ...read(base),
    ...(bounds.length > 0 && { longContext: { aboveInputTokens: Math.min(...bounds), ...read(above) } }),
    ...(hours !== undefined && { perMinute: Number((hours / 60).toFixed(9)) }),
    ...(characters !== undefined && { perMillionChars: characters }),
    ...(requests !== undefined && { perRequest: requests / 1000 }),
  });
  return Object.keys(price).length > 0 ? price : null;
}

const Manifest = z.object({ version: z.string() });
export const bundledVersion = (): string =>
  Manifest.parse(JSON.parse(readFileSync(join(ROOT, 'node_modules', PACKAGE, 'package.json'), 'utf8')))
    .version;
const ownFile = () => OwnFile.parse(parse(readFileSync(join(ROOT, 'prices.yaml'), 'utf8')));
export function ownPrices(): z.infer<typeof OwnPrices> {
  const { tools: _, ...models } = ownFile();
  return OwnPrices.parse(models);
}
const ownTools = (): PriceCatalogue['tools'] =>
  Object.fromEntries(
    Object.entries(ownFile().tools).map(([provider, one]) => [provider, one?.perThousandToolCalls ?? {}]),
  );
/** The day of the newest source, which is the catalogue's date. */
export const PRICES_DAY = '2026-11-27';

/** One model in a line, so that a change is read as one. */
export function catalogueText({ source, providers, tools = {} }: PriceCatalogue): string {
  const blocks = Object.entries(providers).map(
    ([provider, models]) =>
      `    ${JSON.stringify(provider)}: [\n${models.map((model) => `      ${JSON.stringify(model)}`).join(',\n')}\n    ]`,
  );
  const prices = Object.entries(tools).map(
    ([provider, byTool]) => `    ${JSON.stringify(provider)}: ${JSON.stringify(byTool)}`,
  );
  return `{\n  "source": ${JSON.stringify(source)},\n  "providers": {\n${blocks.join(',\n')}\n  },\n  "tools": {\n${prices.join(',\n')}\n  }\n}\n`;
}

if (import.meta.main)
  writeFileSync(CATALOGUE, catalogueText(makeCatalogue(bundledVersion(), ownPrices(), PRICES_DAY)));
