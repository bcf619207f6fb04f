import { createHmac, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { hmacBy } from './hmac.ts';

test.for([0, 1, 63, 64, 65, 200])('an HMAC by a key of %i bytes is what Node makes of it', (length) => {
  const key = randomBytes(length);
  const hmac = hmacBy(key);
  for (const text of ['', 'short', 'Größe', 'x'.repeat(1000)])
    expect(hmac(text)).toEqual(createHmac('sha256', key).update(text).digest());
});
