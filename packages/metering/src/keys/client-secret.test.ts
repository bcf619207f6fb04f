import { createCipheriv, hkdfSync } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createClientSecrets } from './client-secret.ts';

const gatewaySecret = 'a secret that all processes share';
const SECRET = { secretHash: 'hash', model: 'gpt-realtime', session: { instructions: 'Be brief.' } };

test('a client secret opens until it expires, and only as it was sealed by this gateway', () => {
  let now = 1_000;
  const secrets = createClientSecrets({ gatewaySecret, now: () => now });
  const sealed = secrets.seal({ ...SECRET, expiresAtMs: 2_000 }) ?? '';
  expect(sealed).toMatch(/^ek_[\w-]+$/);
  expect(secrets.open(sealed)).toEqual({ ...SECRET, expiresAtMs: 2_000 });
  const middle = sealed.length >> 1;
  const other = sealed[middle] === 'A' ? 'B' : 'A';
  expect(secrets.open(sealed.slice(0, middle) + other + sealed.slice(middle + 1))).toBeUndefined();
  for (const text of ['ek_', 'ek_short', `${sealed}AAAA`, sealed.slice(3), `ek_${'A'.repeat(7_000)}`])
    expect(secrets.open(text)).toBeUndefined();
  const elsewhere = createClientSecrets({ gatewaySecret: `${gatewaySecret}!`, now: () => now });
  expect(elsewhere.open(sealed)).toBeUndefined();
  now = 2_000;
  expect(secrets.open(sealed)).toBeUndefined();
});

test('nothing of the session can be read in it, and one that is too large for a header is not sealed', () => {
  const secrets = createClientSecrets({ gatewaySecret, now: () => 0 });
  const sealed = secrets.seal({ ...SECRET, expiresAtMs: 1 }) ?? '';
  expect(Buffer.from(sealed.slice(3), 'base64url').includes('brief')).toBe(false);
  const random = Array.from({ length: 9_000 }, () => Math.floor(Math.random() * 36).toString(36)).join('');
  expect(secrets.seal({ ...SECRET, session: { instructions: random }, expiresAtMs: 1 })).toBeUndefined();
  expect(
    secrets.seal({ ...SECRET, session: { instructions: 'long '.repeat(9_000) }, expiresAtMs: 1 }),
  ).toBeDefined();
});

test('a secret that would take long to open is not sealed, however well it packs', () => {
  const secrets = createClientSecrets({ gatewaySecret, now: () => 0 });
  const sealed = (characters: number) =>
    secrets.seal({ ...SECRET, session: { instructions: 'a'.repeat(characters) }, expiresAtMs: 1 });
  expect(secrets.open(sealed(64_000) ?? '')?.session.instructions).toHaveLength(64_000);
  expect(sealed(66_000)).toBeUndefined();
});

test('a secret that another version sealed in a form of its own is none', () => {
  const secrets = createClientSecrets({ gatewaySecret, now: () => 0 });
  const sealed = (content: Buffer) => {
    const key = Buffer.from(hkdfSync('sha256', gatewaySecret, '', 'realtime client secret v1', 32));
    const nonce = Buffer.alloc(12, 1);
    const cipher = createCipheriv('aes-256-gcm', key, nonce);
    const text = Buffer.concat([cipher.update(content), cipher.final()]);
    return `ek_${Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64url')}`;
  };
  const packed = (value: unknown) => deflateRawSync(Buffer.from(JSON.stringify(value)));
  const now = { ...SECRET, expiresAtMs: 1 };
  expect(secrets.open(sealed(packed(now)))).toEqual(now);
  expect(secrets.open(sealed(packed({ ...now, scopes: ['all'] })))).toBeUndefined();
  expect(secrets.open(sealed(packed([now])))).toBeUndefined();
  expect(
    secrets.open(sealed(deflateRawSync(Buffer.from('no JSON, whatever else it may be')))),
  ).toBeUndefined();
  expect(secrets.open(sealed(Buffer.alloc(60, 0xff)))).toBeUndefined();
});
