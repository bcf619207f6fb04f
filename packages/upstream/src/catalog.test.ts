import { expect, test } from 'vitest';
import { createCatalog, NO_LOADS } from './catalog.ts';
import { parseConfiguration } from './configuration/parse-configuration.ts';

const configuration = parseConfiguration(
  `
channels:
  a: { provider: openai-compatible, baseUrl: http://a/v1, speaks: [responses, chat] }
  b: { provider: openai-compatible, baseUrl: http://b/v1, speaks: [chat] }
  c: { provider: simulator }
models:
  "*": { kind: text, routes: [{ channel: a }] }
  "gpt-*": { kind: text, routes: [{ channel: a }] }
  "gpt-*-mini": { kind: text, routes: [{ channel: a }] }
  "gpt-image-*": { kind: image, routes: [{ channel: c }] }
  gpt-5: { kind: text, routes: [{ channel: a, model: big }] }
  split:
    kind: text
    routes:
      - { channel: b, priority: 1 }
      - { channel: a, weight: 3 }
      - { channel: c, weight: 1, builtInTools: [web_search] }
`,
  'gateway.yaml',
  {},
);

test.for([
  ['gpt-5', 'gpt-5'],
  ['gpt-5.2', 'gpt-*'],
  ['gpt-5-mini', 'gpt-*-mini'],
  ['gpt-image-1', 'gpt-image-*'],
  ['GPT-5', '*'],
  ['gpt-', 'gpt-*'],
  ['xgpt-5', '*'],
] as const)('%s is served by the entry %s', ([name, pattern]) => {
  expect(
    createCatalog(configuration, { random: Math.random, loads: NO_LOADS }).resolveModel(name),
  ).toMatchObject({ name, pattern });
});

test('a name that fits no entry is not served, nor one that is far too long', () => {
  const few = { ...configuration, models: configuration.models.filter(({ pattern }) => pattern !== '*') };
  expect(createCatalog(few, { random: Math.random, loads: NO_LOADS }).resolveModel('claude')).toBe(null);
  expect(
    createCatalog(configuration, { random: Math.random, loads: NO_LOADS }).resolveModel('x'.repeat(257)),
  ).toBe(null);
});

test.for(['.', '..'])(
  'the name %s, which is no segment of a path, is not served, by a pattern neither',
  (name) => {
    const catalog = createCatalog(configuration, { random: Math.random, loads: NO_LOADS });
    expect(catalog.resolveModel(name)).toBe(null);
  },
);

test("a route's own name goes to its channel; without one, the caller's", () => {
  const catalog = createCatalog(configuration, { random: Math.random, loads: NO_LOADS });
  const modelAt = (name: string) => {
    const model = catalog.resolveModel(name);
    if (model === null) throw new Error('no model');
    return catalog.candidates({ model, protocol: 'responses' })[0]?.model;
  };
  expect(modelAt('gpt-5')).toBe('big');
  expect(modelAt('gpt-7')).toBe('gpt-7');
  expect(modelAt('gpt-8')).toBe('gpt-8');
});

const STARRED = `
channels:
  a: { provider: openai, baseUrl: http://a/v1, apiKey: k }
  b: { provider: openai-compatible, baseUrl: http://b/v1 }
models:
  "acme/*": { kind: text, routes: [{ channel: a, model: "*" }, { channel: b, model: "eu.*-v1", priority: 1 }, { channel: b, priority: 2 }] }
  "acme/fixed-*": { kind: text, routes: [{ channel: a, model: gpt-5.2 }] }
`;
const starred = createCatalog(parseConfiguration(STARRED, 'gateway.yaml', {}), {
  random: Math.random,
  loads: NO_LOADS,
});

test("a * in a route's name stands for what that of the pattern takes in of the caller's", () => {
  const namesAt = (name: string) => {
    const model = starred.resolveModel(name);
    if (model === null) throw new Error('no model');
    return starred.candidates({ model, protocol: 'chat' }).map((candidate) => candidate.model);
  };
  expect(namesAt('acme/gpt-5.2')).toEqual(['gpt-5.2', 'eu.gpt-5.2-v1', 'acme/gpt-5.2']);
  expect(namesAt('acme/$&/x')).toEqual(['$&/x', 'eu.$&/x-v1', 'acme/$&/x']);
  expect(namesAt('acme/fixed-1')).toEqual(['gpt-5.2']);
  expect(starred.resolveModel('acme/gpt-5.2')).toMatchObject({
    name: 'acme/gpt-5.2',
    price: { inputPerMTok: expect.any(Number) },
  });
});

test.for(['acme/', 'acme/.', 'acme/..'])(
  '%j, of which a channel would get no name, is not served',
  (name) => {
    expect(starred.resolveModel(name)).toBe(null);
  },
);

test('the list has the names of the catalogue under the prefix that callers use', () => {
  const names = starred.listNamedModels().map(({ name }) => name);
  expect(names).toContain('acme/gpt-5.2');
  expect(names.filter((name) => !name.startsWith('acme/'))).toEqual([]);
});

const order = (
  random: () => number,
  protocol: 'responses' | 'chat' | 'messages' | 'images',
  tool?: string,
) => {
  const catalog = createCatalog(configuration, { random, loads: NO_LOADS });
  const model = catalog.resolveModel('split');
  if (model === null) throw new Error('no model');
  return catalog
    .candidates({
      model,
      protocol,
      ...(tool && { requires: ({ builtInTools }) => builtInTools === 'any' || builtInTools.includes(tool) }),
    })
    .map(({ channel }) => channel.name)
    .join('');
};

test('candidates come by priority, and within one priority by weight', () => {
  expect(order(() => 0, 'chat')).toBe('acb');
  expect(order(() => 0.74, 'chat')).toBe('acb');
  expect(order(() => 0.76, 'chat')).toBe('cab');
  expect(order(() => 0.999999, 'chat')).toBe('cab');
});

test('only channels with the protocol are candidates', () => {
  expect(order(() => 0, 'responses')).toBe('ac');
  expect(order(() => 0, 'messages')).toBe('c');
  expect(order(() => 0, 'images')).toBe('');
});

test('a condition on routes leaves out those that do not meet it', () => {
  expect(order(() => 0, 'chat', 'web_search')).toBe('c');
  expect(order(() => 0, 'chat', 'file_search')).toBe('');
});

test('over many requests the choice follows the weights', () => {
  let seed = 1;
  const random = (): number => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  const catalog = createCatalog(configuration, { random, loads: NO_LOADS });
  const model = catalog.resolveModel('split');
  if (model === null) throw new Error('no model');
  const firsts = Array.from(
    { length: 4000 },
    () => catalog.candidates({ model, protocol: 'chat' })[0]?.channel.name,
  );
  const share = firsts.filter((name) => name === 'a').length / firsts.length;
  expect(share).toBeGreaterThan(0.72);
  expect(share).toBeLessThan(0.78);
});

test('routes of other protocols keep their priority, and come last within it', () => {
  const mixed = parseConfiguration(
    `
channels:
  chat: { provider: vllm }
  claude: { provider: simulator, speaks: [messages] }
  both: { provider: simulator, speaks: [messages, responses] }
models:
  m:
    kind: text
    routes:
      - { channel: both, priority: 1 }
      - { channel: chat, priority: 0, weight: 1000 }
      - { channel: claude, priority: 0, weight: 0.001 }
`,
    'gateway.yaml',
    {},
  );
  const catalog = createCatalog(mixed, { random: () => 0.5, loads: NO_LOADS });
  const model = catalog.resolveModel('m');
  if (model === null) throw new Error('no model');
  const ordered = (protocol: 'messages' | 'responses') =>
    catalog
      .candidates({ model, protocol, orElse: ['messages', 'chat'] })
      .map((candidate) => `${candidate.channel.name} ${candidate.protocol}`);
  expect(ordered('messages')).toEqual(['claude messages', 'chat chat', 'both messages']);
  expect(ordered('responses')).toEqual(['chat chat', 'claude messages', 'both responses']);
});

test("a channel's quirks are its kind's, single ones changed by its entry, and again by a route", () => {
  const { channels, models } = parseConfiguration(
    `
channels:
  a: { provider: mistral, apiKey: a-key-of-mine, quirks: { mergeMessages: false } }
models:
  m: { kind: text, routes: [{ channel: a, quirks: { thinkTags: true } }, { channel: a }] }
`,
    'gateway.yaml',
    {},
  );
  const own = { toolCallIds: 'nine-alphanumeric', mergeMessages: false, thinkTags: false };
  expect(channels.get('a')?.quirks).toMatchObject(own);
  expect(models[0]?.routes.map(({ quirks }) => quirks)).toMatchObject([{ ...own, thinkTags: true }, own]);
});

test('a route charges its own multiple of the price; what is reserved is at the dearest', () => {
  const text = `
channels:
  near: { provider: openai-compatible, baseUrl: "http://a" }
  far: { provider: openai-compatible, baseUrl: "http://b" }
models:
  m:
    kind: text
    routes: [{ channel: near, priceFactor: 1.1 }, { channel: far, priority: 1 }]
    price: { inputPerMTok: 3, outputPerMTok: 0.7, longContext: { aboveInputTokens: 200000, inputPerMTok: 6 }, serviceTiers: { flex: { inputPerMTok: 1.5 } }, perThousandToolCalls: { web_search: 10 } }
`;
  const catalog = createCatalog(parseConfiguration(text, 'gateway.yaml', {}), {
    random: Math.random,
    loads: NO_LOADS,
  });
  const model = catalog.resolveModel('m');
  const [near, far] = model?.routes ?? [];
  if (!model || !near || !far) throw new Error('no model');
  const dear = {
    inputPerMTok: 3.3,
    outputPerMTok: 0.77,
    longContext: { aboveInputTokens: 200_000, inputPerMTok: 6.6 },
    serviceTiers: { flex: { inputPerMTok: 1.65 } },
    perThousandToolCalls: { web_search: 11 },
  };
  expect(model.priceAt(near)).toEqual(dear);
  expect(model.priceAt(far)).toMatchObject({ inputPerMTok: 3, outputPerMTok: 0.7 });
  expect(model.price).toEqual(dear);
});

test.for([
  ['{ provider: bedrock, region: eu-central-1, apiKey: k }', 'eu.anthropic.claude-opus-5'],
  ['{ provider: bedrock, region: eu-central-1, apiKey: k }', 'anthropic.claude-opus-4-5-20251101-v1:0'],
  ['{ provider: anthropic-aws, region: eu-central-1, workspaceId: w, apiKey: k }', 'claude-opus-5'],
  ['{ provider: vertex, project: p, location: eu, auth: { type: google } }', 'claude-opus-4-5@20251101'],
] as const)('at %s the catalogue knows the price of %s', ([channel, id]) => {
  const text = `channels:\n  one: ${channel}\nmodels:\n  m: { kind: text, routes: [{ channel: one, model: "${id}" }] }\n`;
  const catalog = createCatalog(parseConfiguration(text, 'gateway.yaml', {}), {
    random: Math.random,
    loads: NO_LOADS,
  });
  expect(catalog.resolveModel('m')?.price).toMatchObject({ inputPerMTok: 5, outputPerMTok: 25 });
});
