import { startRedis } from '@gateway/testkit/start-redis';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createDraftShelf } from './draft-shelf.ts';
import { createSealedValues } from './sealed-values.ts';

const SECRET = 'a gateway secret of more than 32 characters';
const DRAFT = { text: 'channels: { one: { provider: openai } }', secrets: { KEY: 'gwv1_sealed' } };

test('a draft lies in Redis sealed and for a minute at most, one at a time by an id', async () => {
  await using resources = new AsyncDisposableStack();
  const server = resources.adopt(await startRedis(), (started) => started.close());
  const redis = resources.adopt(new Redis(server.url), (opened) => opened.disconnect());
  const shelf = createDraftShelf(redis, createSealedValues(SECRET));
  expect(await shelf.put('ann', DRAFT)).toBe(true);
  expect(await shelf.put('ann', { ...DRAFT, text: 'another' })).toBe(false);
  expect(await shelf.put('ben', { ...DRAFT, text: 'of ben' })).toBe(true);
  expect(await shelf.read('ann')).toEqual(DRAFT);

  const [name = ''] = (await redis.keys('*')).filter((key) => key.endsWith(':ann'));
  const sealed = (await redis.get(name)) ?? '';
  expect(sealed).toMatch(/^gwv1_[\w-]+$/);
  expect(await redis.pttl(name)).toBeGreaterThan(0);
  expect(await redis.pttl(name)).toBeLessThanOrEqual(60_000);
  // It is bound to its id, and to the gateway's secret.
  await redis.set(name.replace('ann', 'eve'), sealed);
  expect(await shelf.read('eve')).toBeNull();
  const others = createDraftShelf(redis, createSealedValues(`${SECRET}!`));
  expect(await others.read('ann')).toBeNull();

  await shelf.remove('ann');
  expect(await shelf.read('ann')).toBeNull();
  expect(await shelf.put('ann', DRAFT)).toBe(true);
});
