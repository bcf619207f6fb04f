import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Price } from '@gateway/contracts/models/price';
import type { Provider } from '../configuration/presets/presets.ts';
import type { ModelKind } from '../protocol.ts';
import { PriceCatalogue, type PricedModel, type ToolPrices } from './catalogue-schema.ts';

/** The catalogue's facts about providers' models. */
export interface KnownModels {
  /** Null for a name that the catalogue does not have at this provider. */
  find(provider: Provider, name: string): PricedModel | null;
  /** The current names of this kind: no dated snapshots, nothing deprecated. */
  list(provider: Provider, kind: ModelKind): readonly string[];
  /** What the tools that this provider runs cost with its text models. */
  tools(provider: Provider): ToolPrices;
}

/** The catalogue's provider of each kind of channel. A kind that is absent serves models without a common price. */
const SOURCES: Readonly<Partial<Record<Provider, readonly string[]>>> = {
  openai: ['openai'],
  anthropic: ['anthropic'],
  'azure-openai': ['azure', 'openai'],
  gemini: ['google'],
  google: ['google'],
  mistral: ['mistral'],
  groq: ['groq'],
  deepseek: ['deepseek'],
  openrouter: ['openrouter'],
  xai: ['x-ai'],
  cohere: ['cohere'],
  voyage: ['voyageai'],
  simulator: ['openai', 'anthropic', 'cohere'],
  'anthropic-aws': ['anthropic'],
  bedrock: ['anthropic', 'openai'],
  vertex: ['anthropic', 'google'],
  foundry: ['azure', 'openai', 'anthropic'],
};

/** What the clouds put around the name that a model has at its maker: a geography, the vendor, a version of the offer. */
const AROUND_NAMES: Readonly<Partial<Record<Provider, RegExp>>> = {
  bedrock: /^(?:[a-z-]+\.)?(?:anthropic|openai)\.|-v\d+(?::\d+)?$/g,
  vertex: /^google\//g,
};

const CATALOGUE = join(import.meta.dirname, 'catalogue.json');

export function createKnownModels(catalogue: () => PriceCatalogue): KnownModels {
  const modelsOf = (provider: Provider): readonly PricedModel[] => {
    const sources = SOURCES[provider] ?? [];
    return sources.flatMap((source) => catalogue().providers[source] ?? []);
  };
  return {
    find: (provider, name) => {
      const models = modelsOf(provider);
      const lower = name.toLowerCase().replaceAll(AROUND_NAMES[provider] ?? '', '');
      return models.find(({ id }) => id === lower) ?? models.find((model) => fits(model, lower)) ?? null;
    },
    // A cloud's own names differ, and it may lack some.
    list: (provider, kind) =>
      (AROUND_NAMES[provider] === undefined ? modelsOf(provider) : []).flatMap((model) =>
        model.kind === kind ? (model.listed ?? []) : [],
      ),
    tools: (provider) => {
      const tools = (SOURCES[provider] ?? []).map((source) => catalogue().tools?.[source] ?? {});
      return dearestTools(tools);
    },
  };
}

let parsed: PriceCatalogue | undefined;
/** The bundled catalogue, read when it is first needed, so a process that resolves no model does not load it. */
export const KNOWN_MODELS = createKnownModels(() => {
  parsed ??= PriceCatalogue.parse(JSON.parse(readFileSync(CATALOGUE, 'utf8')));
  return parsed;
});

/** Each tool at the highest of several prices. */
export function dearestTools(all: readonly ToolPrices[]): ToolPrices {
  const dearest: ToolPrices = {};
  for (const prices of all)
    for (const [tool, usd] of Object.entries(prices)) dearest[tool] = Math.max(dearest[tool] ?? 0, usd);
  return dearest;
}

/** The higher of two prices of one model whose routes lead to several providers. */
export function dearer(one: Price | null, other: Price | null): Price | null {
  if (one === null || other === null) return one ?? other;
  return sumOf(other) > sumOf(one) ? other : one;
}

const sumOf = ({ inputPerMTok = 0, outputPerMTok = 0, perMinute = 0, perMillionChars = 0 }: Price): number =>
  inputPerMTok + outputPerMTok + perMinute + perMillionChars;

/** What follows the name of one version in the name of another: `-5` after `claude-sonnet-5`, but not a date. */
const NEXT_VERSION = /^[-.]\d{1,2}(?!\d|-\d\d(?!\d))/;

const isVersionOf = (name: string, part: string): boolean =>
  !NEXT_VERSION.test(name.slice(name.indexOf(part) + part.length));

const fits = (model: PricedModel, name: string): boolean =>
  model.equals?.includes(name) ||
  model.startsWith?.some((part) => name.startsWith(part) && isVersionOf(name, part)) ||
  model.contains?.some((part) => name.includes(part) && isVersionOf(name, part)) ||
  model.endsWith?.some((part) => name.endsWith(part)) ||
  model.regex?.some((pattern) => new RegExp(pattern).test(name)) ||
  false;
