import { expect, test } from 'vitest';
import { BootstrapKey, hashOf, isPlausibleSecret, makeSecret } from './key-secret.ts';

test('a made key has the prefix and 256 random bits, and no two are alike', () => {
  const secrets = new Set(Array.from({ length: 1000 }, makeSecret));
  expect(secrets.size).toBe(1000);
  for (const secret of secrets) {
    expect(secret).toMatch(/^gwk_[\w-]{49}$/);
    expect(Buffer.from(secret.slice(4, 47), 'base64url')).toHaveLength(32);
    expect(isPlausibleSecret(secret)).toBe(true);
  }
});

test('every single mistyped character of a made key is noticed by its checksum', () => {
  const secret = makeSecret();
  for (let at = 4; at < secret.length; at += 1) {
    const other = secret[at] === 'x' ? 'y' : 'x';
    expect(isPlausibleSecret(secret.slice(0, at) + other + secret.slice(at + 1))).toBe(false);
  }
  expect(isPlausibleSecret(secret.slice(0, -1))).toBe(false);
  expect(isPlausibleSecret(`${secret}x`)).toBe(false);
});

test('a bootstrap key is any printable string of 24 to 256 characters', () => {
  expect(isPlausibleSecret('x'.repeat(23))).toBe(false);
  expect(isPlausibleSecret('x'.repeat(24))).toBe(true);
  expect(isPlausibleSecret('x'.repeat(256))).toBe(true);
  expect(isPlausibleSecret('x'.repeat(257))).toBe(false);
  expect(isPlausibleSecret(`${'x'.repeat(24)} y`)).toBe(false);
});

test('the stored hash depends on the gateway secret', () => {
  expect(hashOf('a key', 'one secret')).toBe(hashOf('a key', 'one secret'));
  expect(hashOf('a key', 'one secret')).not.toBe(hashOf('a key', 'another secret'));
  expect(hashOf('a key', 'one secret')).not.toContain('a key');
});

test('a bootstrap key is any string of 24 characters, or a key that the gateway has made', () => {
  for (const key of ['x'.repeat(24), 'sk-a-key-of-our-own-making', makeSecret()])
    expect(BootstrapKey.parse(key)).toBe(key);
});

test('a bootstrap key that no request can use is refused', () => {
  expect(() => BootstrapKey.parse('x'.repeat(23))).toThrow('must be 24 to 256');
  expect(() => BootstrapKey.parse(`gwk_${'x'.repeat(40)}`)).toThrow('must not begin with gwk_');
});
