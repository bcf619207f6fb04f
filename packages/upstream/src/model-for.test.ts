import { expect, test } from 'vitest';
import { mayUse } from './model-for.ts';

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

test.for(CASES)('a key for %s asking for %s: %s', ([pattern, name, allowed]) => {
  expect(mayUse({ models: [pattern] }, name)).toBe(allowed);
});

test('a key without patterns may use every model, one with an empty list none', () => {
  expect(mayUse({ models: null }, 'gpt-5')).toBe(true);
  expect(mayUse({ models: [] }, 'gpt-5')).toBe(false);
});
