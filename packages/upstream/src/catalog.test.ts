import { expect, test } from 'vitest';
import { createCatalog } from './catalog.ts';
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
  expect(createCatalog(configuration, Math.random).resolveModel(name)).toMatchObject({ name, pattern });
});

test('a name that nothing fits is not served, nor one of absurd length', () => {
  const few = { ...configuration, models: configuration.models.filter(({ pattern }) => pattern !== '*') };
  expect(createCatalog(few, Math.random).resolveModel('claude')).toBe(null);
  expect(createCatalog(configuration, Math.random).resolveModel('x'.repeat(257))).toBe(null);
});

test("a route's own name goes to its channel; without one, the caller's", () => {
  const catalog = createCatalog(configuration, Math.random);
  const modelAt = (name: string) => {
    const model = catalog.resolveModel(name);
    if (model === null) throw new Error('no model');
    return catalog.candidates({ model, protocol: 'responses' })[0]?.model;
  };
  expect(modelAt('gpt-5')).toBe('big');
  expect(modelAt('gpt-7')).toBe('gpt-7');
  expect(modelAt('gpt-8')).toBe('gpt-8');
});

const order = (
  random: () => number,
  protocol: 'responses' | 'chat' | 'messages' | 'images',
  tool?: string,
) => {
  const catalog = createCatalog(configuration, random);
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

test('only channels that speak the protocol are candidates', () => {
  expect(order(() => 0, 'responses')).toBe('ac');
  expect(order(() => 0, 'messages')).toBe('c');
  expect(order(() => 0, 'images')).toBe('');
});

test('a condition on routes leaves out those that do not meet it', () => {
  expect(order(() => 0, 'chat', 'web_search')).toBe('c');
  expect(order(() => 0, 'chat', 'file_search')).toBe('');
});

test('weights hold over many requests', () => {
  let seed = 1;
  const random = (): number => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  const catalog = createCatalog(configuration, random);
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
