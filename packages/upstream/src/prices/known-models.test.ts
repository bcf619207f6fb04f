import { expect, test } from 'vitest';
import { createCatalog, NO_LOADS } from '../catalog.ts';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import type { PriceCatalogue } from './catalogue-schema.ts';
import { createKnownModels, KNOWN_MODELS } from './known-models.ts';

const CATALOGUE: PriceCatalogue = {
  source: 'a test',
  providers: {
    openai: [
      {
        id: 'small',
        equals: ['small'],
        price: { inputPerMTok: 1 },
        kind: 'text',
        listed: ['small'],
      },
      {
        id: 'sound',
        equals: ['sound'],
        price: { perMinute: 1 },
        kind: 'transcription',
        listed: ['sound'],
      },
      {
        id: 'big-2',
        startsWith: ['big-2'],
        contains: ['very-big-2'],
        price: { inputPerMTok: 2 },
        contextWindow: 1000,
        kind: 'text',
        listed: ['big-2'],
      },
    ],
    azure: [{ id: 'small', regex: ['^small'], price: { inputPerMTok: 3 } }],
    anthropic: [{ id: 'clever', price: { inputPerMTok: 4 } }],
  },
  tools: { anthropic: { web_search: 10, web_fetch: 1 }, 'x-ai': { web_search: 5 } },
};
const known = createKnownModels(() => CATALOGUE);

test.for([
  ['big-2', 2],
  ['BIG-2', 2],
  ['big-2-2026-01-01', 2],
  ['big-2-20260101', 2],
  ['big-2@20260101', 2],
  ['very-big-2', 2],
  ['big-2-5', null],
  ['big-2.5', null],
  ['big-2-5-20260101', null],
  ['big', null],
  ['small-1', null],
  ['__proto__', null],
] as const)('the name %s costs %s', ([name, price]) => {
  expect(known.find('openai', name)?.price.inputPerMTok ?? null).toBe(price);
});

test("a channel's models are looked up at its own provider; for a self-hosted server there is no provider", () => {
  expect(known.find('azure-openai', 'small')?.price).toEqual({ inputPerMTok: 3 });
  expect(known.find('anthropic', 'small')).toBe(null);
  expect(known.find('vllm', 'small')).toBe(null);
  expect(known.find('openai-compatible', 'small')).toBe(null);
});

const catalogOf = (models: string) =>
  createCatalog(
    parseConfiguration(
      `channels:
  openai: { provider: openai, apiKey: k }
  azure: { provider: azure-openai, baseUrl: "https://x.example.com", apiKey: k }
  own: { provider: vllm }
  claude: { provider: anthropic, apiKey: k }
  grok: { provider: xai, apiKey: k }
models:
${models}`,
      'gateway.yaml',
      {},
    ),
    { random: Math.random, loads: NO_LOADS },
    known,
  );

test('the configured price wins; a route is looked up by its own name for the model; the highest of several prices counts', () => {
  const catalog = catalogOf(`
  small: { kind: text, routes: [{ channel: openai }], price: { inputPerMTok: 9 } }
  free: { kind: text, routes: [{ channel: openai, model: small }], price: { inputPerMTok: 0 } }
  alias: { kind: text, routes: [{ channel: openai, model: big-2 }, { channel: own }] }
  both: { kind: text, routes: [{ channel: openai, model: small }, { channel: azure, model: small }] }
  mine: { kind: text, routes: [{ channel: own }] }`);
  const price = (name: string) => catalog.resolveModel(name)?.price;
  expect(price('small')).toEqual({ inputPerMTok: 9 });
  expect(price('free')).toEqual({ inputPerMTok: 0 });
  expect(price('alias')).toEqual({ inputPerMTok: 2 });
  expect(price('both')).toEqual({ inputPerMTok: 3 });
  expect(price('mine')).toBe(null);
});

test("fees of a provider's tools belong to the prices of its text models, at the highest of several channels; a price of one's own is whole", () => {
  const catalog = catalogOf(`
  clever: { kind: text, routes: [{ channel: claude }] }
  both: { kind: text, routes: [{ channel: grok, model: none }, { channel: claude, model: clever }] }
  mine: { kind: text, routes: [{ channel: claude, model: clever }], price: { inputPerMTok: 9 } }
  unknown: { kind: text, routes: [{ channel: claude }] }`);
  const price = (name: string) => catalog.resolveModel(name)?.price;
  const tools = { web_search: 10, web_fetch: 1 };
  expect(price('clever')).toEqual({ inputPerMTok: 4, perThousandToolCalls: tools });
  expect(price('both')).toEqual({ inputPerMTok: 4, perThousandToolCalls: tools });
  expect(price('mine')).toEqual({ inputPerMTok: 9 });
  expect(price('unknown')).toBe(null);
});

test('a fee under another name of a tool is a mistake that names its family', () => {
  const models = (tool: string) =>
    `  m: { kind: text, routes: [{ channel: own }], price: { perThousandToolCalls: { ${tool}: 10 } } }`;
  expect(() => catalogOf(models('web_search_preview'))).toThrow(/web_search/);
  expect(() => catalogOf(models('web_search'))).not.toThrow();
});

test("a pattern is shown as the catalogue's names of its kind at its channels, unless another entry serves the name", () => {
  const catalog = catalogOf(`
  "b*": { kind: text, routes: [{ channel: openai }] }
  "*": { kind: text, routes: [{ channel: openai }, { channel: own }] }
  "small*": { kind: text, routes: [{ channel: own }] }
  listen: { kind: transcription, routes: [{ channel: openai, model: sound }] }
  "x*": { kind: text, routes: [{ channel: openai, model: small }] }`);
  const shown = catalog.listNamedModels().map(({ name, pattern }) => [name, pattern]);
  expect(shown).toEqual([
    ['big-2', 'b*'],
    ['listen', 'listen'],
  ]);
});

test('the bundled catalogue prices what the simulator serves at a fresh start', () => {
  for (const name of [
    'gpt-5.6-sol',
    'claude-sonnet-5-5',
    'gpt-image-2',
    'dall-e-3',
    'gpt-4o-mini-tts',
    'whisper-1',
  ])
    expect(KNOWN_MODELS.find('simulator', name)?.price).toBeDefined();
});
