import { expect, test } from 'vitest';
import { createOpaqueTokens, TOKEN_PREFIX } from './opaque-token.ts';

const tokens = createOpaqueTokens('secret');
const content = {
  vendor: 'openai',
  kind: 'encrypted',
  data: 'gAAA…ü',
  scope: 'org',
  texts: ['a', 'b'],
} as const;

test('a token gives back what was sealed, exactly', () => {
  expect(tokens.open(tokens.seal({ ...content, texts: ['a', 'b'] }))).toEqual(content);
});

test('a token holds only characters that survive everywhere', () => {
  expect(tokens.seal({ ...content, texts: [] })).toMatch(/^gwt1_[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$/);
});

test('what was altered, cut, or sealed with another secret does not open', () => {
  const token = tokens.seal({ vendor: 'open', kind: 'trace', data: '' });
  const other = createOpaqueTokens('another').seal({ vendor: 'open', kind: 'trace', data: '' });
  for (const bad of [
    other,
    `${token}x`,
    token.slice(0, -1),
    token.replace('gwt1_ey', 'gwt1_fy'),
    TOKEN_PREFIX,
  ]) {
    expect(tokens.open(bad)).toBe('broken');
  }
});

test('what we did not make is distinguished from what was broken', () => {
  expect(tokens.open('EqQBCgIYAhIk')).toBe('foreign');
});
