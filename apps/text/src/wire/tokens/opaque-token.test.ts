import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { createTokenSeals, TOKEN_PREFIX } from './opaque-token.ts';

const seals = createTokenSeals('secret');
const tokens = seals.ownedBy(['key_one']);
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
  const other = createTokenSeals('another')
    .ownedBy(['key_one'])
    .seal({ vendor: 'open', kind: 'trace', data: '' });
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

test('a token opens for its owner alone: a key, or the team that shares with it', () => {
  const trace = { vendor: 'open', kind: 'trace', data: '' } as const;
  const teams = seals.ownedBy(['team:a', 'key_one']).seal(trace);
  expect(seals.ownedBy(['team:a', 'key_two']).open(teams)).toEqual(trace);
  expect(tokens.open(teams)).toBe('broken');
  expect(seals.ownedBy(['team:a', 'key_one']).open(tokens.seal(trace))).toEqual(trace);
  expect(seals.ownedBy(['key_two']).open(tokens.seal(trace))).toBe('broken');
});

test('a token from before tokens had owners is unreadable, and no error', () => {
  const body = Buffer.from(JSON.stringify({ vendor: 'open', kind: 'trace', data: '' })).toString('base64url');
  const key = createHmac('sha256', 'secret').update('opaque reasoning token').digest();
  const mac = createHmac('sha256', key).update(body).digest('base64url');
  expect(tokens.open(`${TOKEN_PREFIX}${body}.${mac}`)).toBe('broken');
});
