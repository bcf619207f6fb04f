import { expect, test } from 'vitest';
import { parseConfiguration } from './configuration/parse-configuration.ts';
import { mayUse, modelFor } from './model-for.ts';
import { createUpstream } from './upstream.ts';

const CASES: readonly (readonly [pattern: string, name: string, allowed: boolean])[] = [
  ['gpt-5', 'gpt-5', true],
  ['gpt-5', 'gpt-5-mini', false],
  ['gpt-*', 'gpt-5-mini', true],
  ['gpt-*', 'o-gpt-5', false],
  ['*', 'anything', true],
  ['*-mini', 'gpt-5-mini', true],
  ['*-mini', 'gpt-5-mini-2', false],
  ['gpt-*-mini', 'gpt-mini', false],
  ['a*b*c', 'a1b2c', true],
  ['a*b*c', 'a1c2b', false],
  ['ab*ba', 'aba', false],
  ['gpt.5', 'gpt-5', false],
];

test.for(CASES)('a key for %s, a request for %s: %s', ([pattern, name, allowed]) => {
  expect(mayUse({ models: [pattern] }, name)).toBe(allowed);
});

test('a key without patterns may use every model, one with an empty list none', () => {
  expect(mayUse({ models: null }, 'gpt-5')).toBe(true);
  expect(mayUse({ models: [] }, 'gpt-5')).toBe(false);
});

test('a name that is too long is not a model even if it fits a pattern, and is not quoted whole', async () => {
  const text =
    'channels: { one: { provider: simulator, baseUrl: "http://127.0.0.1:1", apiKey: sk-one } }\n' +
    'models: { "gpt-*": { kind: text, routes: [{ channel: one }] } }\n';
  const upstream = createUpstream({ configuration: parseConfiguration(text, 'gateway.yaml', {}) });
  const find = (name: string) =>
    modelFor(upstream, { name, protocols: ['responses'], identity: { models: null } });
  expect(find(`gpt-${'5'.repeat(196)}`).name).toHaveLength(200);
  try {
    find(`gpt-${'5'.repeat(1_000_000)}`);
    expect.unreachable();
  } catch (error) {
    expect(error).toMatchObject({ code: 'model_not_found', message: expect.any(String) });
    expect(String(error).length).toBeLessThan(400);
  }
  await upstream.close();
});
