import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { redisClock } from '../load-script.ts';
import { redisNames } from '../redis-names.ts';
import { emptyRedis } from '../testing/records-in-redis.ts';
import { createOperationBatch, type Operation, type OperationBatch } from './operation-batch.ts';

let server: TestRedis;
let connections: readonly Redis[];
let batches: readonly OperationBatch[];
/** A fixed time: no bucket refills while operations run. */
const clockUs = Date.now() * 1000;

beforeAll(async () => {
  server = await startRedis();
  connections = [1, 2, 3].map(() => createRedis(server.url, 'request'));
  await Promise.all(connections.map((redis) => redis.connect()));
  batches = connections.slice(0, 2).map((redis) => createOperationBatch({ redis, clock: () => clockUs }));
});
afterAll(async () => {
  for (const redis of connections) redis.disconnect();
  await server.close();
});

const at = <T>(all: readonly T[], index: number): T => {
  const found = all[index];
  if (found === undefined) throw new Error('none');
  return found;
};
/** Beside the batches' connections. */
const redis = () => at(connections, 2);
beforeEach(() => emptyRedis(redis()));

const admit = (id: string, limits: Readonly<Record<string, number>>): Operation => ({
  name: 'admit',
  keys: Object.keys(limits),
  args: [id, 60_000, ...Object.values(limits).flatMap((limit) => ['rate', limit])],
});
const enter = (id: string, limit: number): Operation => ({
  name: 'admit',
  keys: ['slots'],
  args: [id, 60_000, 'slots', limit],
});
const reserve = (id: string, amount: number | string): Operation => ({
  name: 'reserve',
  keys: [`reservation:${id}`, 'open', 'account'],
  args: [id, 60_000, '{}', 'budget', 'microUsd', 1000, amount],
});
const settle = (id: string, cost: number | string): Operation => ({
  name: 'settle',
  keys: [`reservation:${id}`, 'open', 'ids', 'records'],
  args: [id, 'ended', 0, 0, 0, cost, '{}', 1000],
});

const calls = async () => {
  const text = await redis().info('commandstats');
  return ['eval', 'evalsha'].reduce(
    (sum, name) => sum + Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(text)?.[1] ?? 0),
    0,
  );
};

/** Thirty that requests wait for, and thirty that none waits for. */
const sixty = (batch: OperationBatch) => [
  ...Array.from({ length: 30 }, (_, n) => batch.run(admit(`req_${n}`, { rate: 1000 }))),
  ...Array.from({ length: 30 }, (_, n) => batch.runSoon(reserve(`req_${n}`, 1))),
];
const remaining = [
  ...Array.from({ length: 30 }, (_, n) => [0, 998 - n]),
  ...Array.from({ length: 30 }, (_, n) => [0, 999 - n]),
];

test('operations of one turn of the event loop go in one call', async () => {
  const batch = at(batches, 0);
  await batch.run(admit('before', { rate: 1000 }));
  const before = await calls();
  expect(await Promise.all(sixty(batch))).toEqual(remaining);
  expect((await calls()) - before).toBe(1);
});

test('operations that arrive while a script runs go with the next one, in one call', async () => {
  const batch = at(batches, 0);
  await batch.run(admit('warm', { other: 1000 }));
  const before = await calls();
  const first = batch.run(admit('before', { rate: 1000 }));
  await new Promise((resolve) => setImmediate(resolve));
  expect(await Promise.all([first, ...sixty(batch)])).toEqual([[0, 999], ...remaining]);
  expect((await calls()) - before).toBe(2);
});

test('what no request waits for is not sent before its time because a call has ended', async () => {
  const batch = at(batches, 0);
  const before = await calls();
  const first = batch.run(admit('before', { rate: 1000 }));
  await new Promise((resolve) => setImmediate(resolve));
  const soon = [batch.runSoon(reserve('req_1', 1)), first.then(() => batch.runSoon(reserve('req_2', 1)))];
  await Promise.all([first, ...soon]);
  expect((await calls()) - before).toBe(2);
});

test('what is given back is on its way after its turn, also while Redis has yet to answer', async () => {
  const sent: string[][] = [];
  const answer = Promise.withResolvers<unknown[]>();
  const names = (args: readonly (string | number)[]) =>
    args.filter((arg) => arg === 'admit' || arg === 'free');
  const scripted = {
    defineCommand: () => undefined,
    gatewayRunOperations: (_keys: number, ...args: (string | number)[]) => {
      sent.push(names(args).map(String));
      return answer.promise;
    },
  };
  const batch = createOperationBatch({
    redis: Object.assign(Object.create(redis()), scripted),
    clock: () => 1,
  });
  const free = (id: string): Operation => ({ name: 'free', keys: ['slots'], args: [id] });
  const admitted = batch.run(enter('req_1', 1));
  await new Promise((resolve) => setImmediate(resolve));
  const freed = batch.runSoon(free('req_1'));
  const later = Array.from({ length: 70 }, (_, n) => batch.runSoon(free(`later_${n}`)));
  await batch.sent();
  expect(sent.map((call) => call.length)).toEqual([1, 64, 7]);
  expect(sent[1]?.[0]).toBe('free');
  answer.resolve(Array(64).fill(1));
  await Promise.all([admitted, freed, ...later]);
  await batch.sent();
  expect(sent).toHaveLength(3);
});

test('more operations than one call may hold go in several calls, all of them, in order', async () => {
  const batch = at(batches, 0);
  const before = await calls();
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) => batch.run(admit(`req_${n}`, { rate: 1000 }))),
  );
  expect(answers).toEqual(Array.from({ length: 200 }, (_, n) => [0, 999 - n]));
  expect((await calls()) - before).toBe(Math.ceil(200 / 64));
});

test('an operation that is refused or malformed leaves the others of its batch exact', async () => {
  const batch = at(batches, 0);
  await redis().hset('broken', 'reserved', 'x');
  const run = (operations: readonly Operation[]) =>
    Promise.allSettled([batch.run(admit('first', { other: 1 })), ...operations.map(batch.run)]);
  const broken = { ...reserve('req_4', 1), keys: ['reservation:req_4', 'open', 'account', 'broken'] };
  const [, ...answers] = await run([
    reserve('req_1', 400),
    reserve('req_2', 601),
    reserve('req_3', '1.5'),
    { ...broken, args: [...broken.args, 'budget', 'microUsd', 1000, 1] },
    { name: 'admit', keys: ['rate'], args: ['req_5', 'soon', 'rate', 10] },
    settle('req_1', 'many'),
    reserve('req_6', 600),
    settle('req_6', 250),
    settle('req_6', 250),
    reserve('req_7', 350),
    reserve('req_8', 1),
  ]);
  const expected = ['fulfilled', 'fulfilled', 'rejected', 'rejected', 'rejected', 'rejected'];
  expect(answers.map(({ status }) => status)).toEqual([...expected, ...Array(5).fill('fulfilled')]);
  const values = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : undefined));
  expect(values.slice(0, 2)).toEqual([
    [0, 600],
    [1, -1, 600],
  ]);
  expect(values.slice(6)).toEqual([[0, 0], 1, 0, [0, 0], [1, -1, 0]]);
  expect(await redis().hgetall('account')).toEqual({ reserved: '750', spent: '250' });
  expect(await redis().zrange('open', '0', '-1')).toEqual(['req_1', 'req_7']);
  expect(await redis().xlen('records')).toBe(1);
  expect((await redis().keys('*')).toSorted()).toEqual([
    'account',
    'broken',
    redisNames.epoch,
    'ids',
    'open',
    'other',
    'records',
    'reservation:req_1',
    'reservation:req_7',
  ]);
});

test('a slot that is freed and taken in one batch expires with its lease', async () => {
  const batch = at(batches, 0);
  await Promise.all([
    batch.run(admit('first', { other: 1 })),
    batch.run(enter('req_1', 1)),
    batch.run({ name: 'free', keys: ['slots'], args: ['req_1'] }),
    batch.run(enter('req_2', 1)),
  ]);
  expect(await redis().zrange('slots', '0', '-1')).toEqual(['req_2']);
  expect(await redis().ttl('slots')).toBeGreaterThanOrEqual(59);
});

test('concurrent requests on several limits over two batches: exactly as many pass as the strictest allows', async () => {
  const limits = { wide: 400, narrow: 123, other: 200 };
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, n) => at(batches, n % 2).run(admit(`req_${n}`, limits))),
  );
  const passed = answers.filter((answer) => Array.isArray(answer) && answer[0] === 0);
  expect(passed).toHaveLength(123);
  expect(await at(batches, 0).run(admit('next', { wide: 400 }))).toEqual([0, 400 - 123 - 1]);
});

test('with Redis frozen the operations that came while another waits fail with it', async () => {
  const own = await startRedis();
  const connection = createRedis(own.url, 'request');
  await connection.connect();
  const batch = createOperationBatch({ redis: connection, clock: redisClock });
  await batch.run(admit('before', { rate: 10 }));
  own.kill('SIGSTOP');
  const first = batch.run(admit('req_1', { rate: 10 }));
  const next = batch.run(admit('req_2', { rate: 10 }));
  next.catch(() => undefined);
  const reason = await first.catch((cause: unknown) => cause);
  expect(reason).toBeInstanceOf(Error);
  // At the same moment, with the same reason: it was never sent.
  await expect(next).rejects.toBe(reason);
  own.kill('SIGCONT');
  // Redis may have run the first; the second was never sent.
  await waitFor(
    async () => (await batch.run(admit('req_3', { rate: 10 })).catch(() => undefined)) !== undefined,
  );
  await batch.flush();
  connection.disconnect();
  await own.close();
});

test('flushing waits for operations that are due soon', async () => {
  const batch = at(batches, 0);
  void batch.runSoon(reserve('req_1', 400));
  await batch.flush();
  expect(await redis().hgetall('account')).toEqual({ reserved: '400' });
});
