import { expect, test } from 'vitest';
import { patternsOverlap } from './model-pattern.ts';

test.for([
  ['gpt-5', 'gpt-5', true],
  ['gpt-5', 'gpt-50', false],
  ['gpt-*', 'gpt-5', true],
  ['gpt-*', 'claude-*', false],
  ['*', '', true],
  ['a*', '*b', true],
  ['a*c', 'ab*', true],
  ['a*c', 'b*', false],
  ['*x*', 'aaa', false],
  ['a**', 'a', true],
  ['', '', true],
  ['', 'a', false],
] as const)('%s and %s have a name in common: %s', ([one, other, expected]) => {
  expect(patternsOverlap(one, other)).toBe(expected);
  expect(patternsOverlap(other, one)).toBe(expected);
});
