import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { redisNames } from '../redis-names.ts';
import { emptyRedis } from '../testing/records-in-redis.ts';
import { type Admission, type Check, createAdmission } from './admission.ts';

let server: TestRedis;
/** A fixed time unless a test moves it: no bucket refills while requests run. */
let clockUs = Date.now() * 1000;
const connections: Redis[] = [];
const replicas: Admission[] = [];

beforeAll(async () => {
  server = await startRedis();
  for (let n = 0; n < 2; n += 1) {
    const redis = new Redis(server.url);
    connections.push(redis);
    replicas.push(createAdmission({ redis, clock: () => clockUs }));
  }
});
afterAll(async () => {
  await Promise.all(replicas.map((each) => each.close()));
  for (const connection of connections) connection.disconnect();
  await server.close();
});
beforeEach(async () => {
  for (const redis of connections.slice(0, 1)) await emptyRedis(redis);
});

const replica = (index: number): Admission => {
  const found = replicas[index % replicas.length];
  if (found === undefined) throw new Error('no replica');
  return found;
};
const rate = (limit: number, owner = 'key_1'): Check => ({ kind: 'rate', owner, limit });
const slots = (limit: number, owner = 'key_1'): Check => ({ kind: 'slots', owner, limit });

const admitMany = (count: number, checks: readonly Check[]) =>
  Promise.all(Array.from({ length: count }, (_, index) => replica(index).admit(`req_${index}`, checks)));

test.for([1, 2, 7, 30, 500])(
  'exactly %i of 20 more concurrent requests pass that limit on two replicas',
  async (limit) => {
    const answers = await admitMany(limit + 20, [rate(limit)]);
    expect(answers.filter(({ ok }) => ok)).toHaveLength(limit);
  },
);

test('after the wait that a refusal names, one request passes', async () => {
  await admitMany(60, [rate(60)]);
  const refused = await replica(0).admit('req_x', [rate(60)]);
  if (refused.ok) throw new Error('was let in');
  expect(refused.waitMs).toBe(1000);
  clockUs += 999_000;
  expect(await replica(1).admit('req_y', [rate(60)])).toMatchObject({ ok: false });
  clockUs += 1000;
  expect(await replica(1).admit('req_y', [rate(60)])).toMatchObject({ ok: true, remaining: [0] });
  expect(await replica(0).admit('req_z', [rate(60)])).toMatchObject({ ok: false });
});

test('as many run at once as there are slots, and a slot that is freed is free for every replica', async () => {
  const checks = [slots(3)];
  const answers = await admitMany(10, checks);
  const inside = answers.flatMap(({ ok }, index) => (ok ? [index] : []));
  expect(inside).toHaveLength(3);
  expect(await replica(0).admit('req_x', checks)).toMatchObject({ ok: false, waitMs: null });
  const [first = 0] = inside;
  replica(first).release(`req_${first}`, checks);
  await expect.poll(() => connections[0]?.zcard(redisNames.slots('key_1'))).toBe(2);
  expect(await replica(first + 1).admit('req_y', checks)).toMatchObject({ ok: true, remaining: [0] });
});

test("a crashed replica's slots expire by themselves", async () => {
  const nowMs = clockUs / 1000;
  await connections[0]?.zadd(
    redisNames.slots('key_1'),
    nowMs - 1,
    'req_of_the_dead',
    nowMs + 60_000,
    'req_alive',
  );
  expect(await replica(0).admit('req_x', [slots(2)])).toMatchObject({ ok: true, remaining: [0] });
});

test('a request that one check refuses takes nothing from the others', async () => {
  await replica(0).admit('req_1', [slots(1, 'team_1')]);
  const checks = [rate(5), slots(5), slots(1, 'team_1')];
  const refused = await replica(0).admit('req_2', checks);
  expect(refused).toMatchObject({ ok: false, check: checks[2] });
  expect(await replica(0).admit('req_3', [rate(5), slots(5)])).toEqual({ ok: true, remaining: [4, 4] });
});

test('a clock that was ahead blocks no request for longer than a minute', async () => {
  await connections[0]?.set(redisNames.rate('key_1', 'requests', null), String(clockUs + 3_600_000_000));
  const refused = await replica(0).admit('req_1', [rate(60)]);
  if (refused.ok) throw new Error('was let in');
  expect(refused.waitMs).toBe(1000);
});

test('a slot that is freed while Redis is frozen is free when it continues', async () => {
  const own = await startRedis();
  const connection = createRedis(own.url, 'request');
  await connection.connect();
  const admission = createAdmission({ redis: connection });
  const checks = [slots(3)];
  await admission.admit('req_1', checks);
  own.kill('SIGSTOP');
  const waiting = admission.admit('req_2', checks);
  // Never sent while the other one waits.
  admission.release('req_1', checks);
  await expect(waiting).rejects.toThrow();
  admission.release('req_2', checks);
  own.kill('SIGCONT');
  await waitFor(async () => (await admission.admit('req_3', checks).catch(() => undefined))?.ok);
  await waitFor(async () => (await connection.zcard(redisNames.slots('key_1'))) === 1);
  await admission.close();
  connection.disconnect();
  await own.close();
});
