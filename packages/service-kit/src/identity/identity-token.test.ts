import type { Identity } from '@gateway/contracts/identity';
import { expect, test } from 'vitest';
import { createIdentitySigner, createIdentityVerifier } from './identity-token.ts';
import { createTolerantClock } from './tolerant-clock.ts';

const SECRET = 'a secret of more than thirty-two characters';
const identity: Identity = {
  keyId: 'key_1',
  keyName: 'näme',
  team: null,
  models: ['gpt-*'],
  endpoints: null,
  accounts: [],
};

function clock(startMs: number) {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance: (ms: number) => {
      nowMs += ms;
    },
  };
}

test('a service reads exactly the identity that the edge signed', () => {
  const { now } = clock(1000);
  const token = createIdentitySigner({ secret: SECRET, now })(identity);
  const verify = createIdentityVerifier({ secret: SECRET, now });
  expect(verify(token)).toEqual(identity);
  expect(verify(token)).toEqual(identity);
});

test('a token is refused once its 60 seconds are over, also where it was accepted before', () => {
  const time = clock(1000);
  const token = createIdentitySigner({ secret: SECRET, now: time.now })(identity);
  const verify = createIdentityVerifier({ secret: SECRET, now: time.now });
  time.advance(59_999);
  expect(verify(token)).toEqual(identity);
  time.advance(1);
  expect(verify(token)).toBeUndefined();
});

test('an identity in use is signed again long before its token expires', () => {
  const time = clock(0);
  const sign = createIdentitySigner({ secret: SECRET, now: time.now });
  const first = sign(identity);
  expect(sign(identity)).toBe(first);
  time.advance(15_000);
  expect(sign(identity)).not.toBe(first);
});

test('after a clock was set back an identity is signed again, and expires within its 60 seconds', () => {
  const time = clock(7_200_000);
  const sign = createIdentitySigner({ secret: SECRET, now: time.now });
  sign(identity);
  time.advance(-3_600_000);
  const token = sign(identity);
  time.advance(60_000);
  expect(createIdentityVerifier({ secret: SECRET, now: time.now })(token)).toBeUndefined();
});

test('a token that is on its way while the clock is set forward is accepted', () => {
  const time = clock(1000);
  const tolerant = createTolerantClock({ now: time.now, uptime: () => 0 });
  const token = createIdentitySigner({ secret: SECRET, now: time.now })(identity);
  time.advance(3_600_000);
  expect(createIdentityVerifier({ secret: SECRET, now: tolerant })(token)).toEqual(identity);
});

test.for([
  ['another secret', createIdentitySigner({ secret: 'x'.repeat(32), now: () => 0 })(identity)],
  ['no signature', Buffer.from('{}').toString('base64url')],
  ['an empty signature', `${Buffer.from('{}').toString('base64url')}.`],
  ['nothing', ''],
])('a token with %s is refused', ([, token = '']) => {
  expect(createIdentityVerifier({ secret: SECRET, now: () => 0 })(token)).toBeUndefined();
});

test('a token with any one character changed is refused', () => {
  const token = createIdentitySigner({ secret: SECRET, now: () => 0 })(identity);
  const verify = createIdentityVerifier({ secret: SECRET, now: () => 0 });
  const [payload = '', mac = ''] = token.split('.');
  const forged = Buffer.from(Buffer.from(payload, 'base64url').toString().replace('key_1', 'key_2')).toString(
    'base64url',
  );
  expect(verify(`${forged}.${mac}`)).toBeUndefined();
  expect(verify(`${payload}.${mac.startsWith('A') ? 'B' : 'A'}${mac.slice(1)}`)).toBeUndefined();
  expect(verify(`${token}.${mac}`)).toBeUndefined();
});
