import { expect, test } from 'vitest';
import { signAssetUrl, verifyAssetUrl } from './asset-url.ts';

const secret = 's'.repeat(32);
const now = 1_800_000_000_000;
const id = 'job_1-0.png';

const parts = (href: string) => {
  const url = new URL(href);
  return { expires: url.searchParams.get('expires'), signature: url.searchParams.get('signature') };
};

test('a signed URL holds for an hour and not a second longer', () => {
  const url = signAssetUrl({ publicUrl: 'https://gateway.example/', secret, id, now });
  expect(url).toMatch(
    /^https:\/\/gateway\.example\/v1\/images\/assets\/job_1-0\.png\?expires=\d+&signature=/,
  );
  expect(verifyAssetUrl({ secret, id, now: now + 3_599_000, ...parts(url) })).toBe(true);
  expect(verifyAssetUrl({ secret, id, now: now + 3_600_000, ...parts(url) })).toBe(false);
});

test('a change of any character makes it void', () => {
  const { expires, signature } = parts(
    signAssetUrl({ publicUrl: 'https://gateway.example', secret, id, now }),
  );
  const text = String(signature);
  for (let index = 0; index < text.length; index += 1) {
    for (const character of 'AQgw') {
      const changed = `${text.slice(0, index)}${character}${text.slice(index + 1)}`;
      if (changed !== text)
        expect(verifyAssetUrl({ secret, id, now, expires, signature: changed })).toBe(false);
    }
  }
  expect(verifyAssetUrl({ secret, id: 'job_1-1.png', now, expires, signature })).toBe(false);
  expect(verifyAssetUrl({ secret, id, now, expires: String(Number(expires) + 1), signature })).toBe(false);
  expect(verifyAssetUrl({ secret: 't'.repeat(32), id, now, expires, signature })).toBe(false);
});

test('what is missing, repeated or no number is void', () => {
  const { expires, signature } = parts(
    signAssetUrl({ publicUrl: 'https://gateway.example', secret, id, now }),
  );
  for (const bad of [undefined, '', '1e12', ['1', '2'], `${expires}.0`])
    expect(verifyAssetUrl({ secret, id, now, expires: bad, signature })).toBe(false);
  for (const bad of [undefined, '', [signature]])
    expect(verifyAssetUrl({ secret, id, now, expires, signature: bad })).toBe(false);
});
