import { expect, test } from 'vitest';
import { createPasses, type Pass } from './pass.ts';

const PASS: Pass = { keyId: 'key_one', channel: null };
const at = (nowMs: number, gatewaySecret = 'a gateway secret of more than 32 characters') =>
  createPasses({ gatewaySecret, now: () => nowMs });

test.for<Pass>([
  PASS,
  { keyId: 'key_two', channel: 'openai' },
  { keyId: 'key_two', channel: null, draft: 'a draft' },
])('a pass is read as it was issued', (pass) => {
  expect(at(0).read(at(0).issue(pass))).toEqual(pass);
});

test('a pass is valid for a minute', () => {
  const bearer = at(1_000).issue(PASS);
  expect(at(60_999).read(bearer)).toEqual(PASS);
  expect(at(61_000).read(bearer)).toBeUndefined();
});

test('a pass of another gateway, or one that was changed in any character, is none', () => {
  const bearer = at(0).issue(PASS);
  expect(at(0, 'another gateway secret of more than 32 characters').read(bearer)).toBeUndefined();
  for (let index = 0; index < bearer.length; index += 1) {
    const other = bearer[index] === 'A' ? 'B' : 'A';
    const changed = bearer.slice(0, index) + other + bearer.slice(index + 1);
    expect(at(0).read(changed), changed).toBeUndefined();
  }
});

test.for(['', 'gwp_', 'gwp_.', `gwp_${'A'.repeat(1001)}.${'A'.repeat(43)}`, 'gwk_anything', 'gwp_e30'])(
  '%s is no pass',
  (bearer) => {
    expect(at(0).read(bearer)).toBeUndefined();
  },
);
