import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Operation, RUN_OPERATIONS } from './batch/operation-batch.ts';
import { loadScript } from './load-script.ts';
import { redisNames } from './redis-names.ts';
import { emptyRedis } from './testing/records-in-redis.ts';
import { withRedis } from './testing/with-redis.ts';

/** Every script makes all of its writes or none, for any arguments and any stored values. */

let redis: Redis;
withRedis((client) => {
  redis = client;
});

/** `any`: a stored value of any type is replaced. */
type Type = 'any' | 'string' | 'hash' | 'sorted set' | 'set' | 'stream';

interface Script {
  /** Of the script, or of an operation of the batch. */
  readonly source: URL | Operation['name'];
  /** With the type of each. */
  readonly keys: Readonly<Record<string, Type>>;
  readonly args: readonly string[];
  /** Indexes in `args` of numbers. */
  readonly numbers: readonly number[];
  /** Fills Redis before the script runs. */
  readonly before?: () => Promise<unknown>;
  /** A counter that could be broken: a field of a hash, or a string. */
  readonly counters?: readonly (readonly [key: string, field?: string])[];
}

const NOW = '1800000000000000';
const record = { id: 'req_1', consumption: { inputTokens: 12 }, costMicroUsd: 30 };
const charges = [
  ['rate', 'tokens', 'rate', 1000, 50],
  ['budget', 'microUsd', 'account', 1000, 100],
];
const reserve = ['rate', 'tokens', '1000', '50', 'budget', 'microUsd', '1000', '100'];
const settle = (mode: string) => [
  ...[NOW, 'req_1', mode, '12', '0', '0', '30', JSON.stringify(record), '86400'],
];

const SCRIPTS: Readonly<Record<string, Script>> = {
  reserve: {
    source: 'reserve',
    keys: { reservation: 'hash', open: 'sorted set', rate: 'string', account: 'hash' },
    args: [NOW, 'req_1', '60000', '{}', ...reserve],
    numbers: [0, 2, 6, 7, 10, 11],
    counters: [['rate'], ['account', 'spent'], ['account', 'reserved']],
  },
  settle: {
    source: 'settle',
    keys: {
      reservation: 'hash',
      open: 'sorted set',
      ids: 'set',
      records: 'stream',
    },
    args: settle('ended'),
    numbers: [0, 3, 4, 5, 6, 8],
    before: async () => {
      await redis.hset('reservation', 'charges', JSON.stringify(charges));
      await redis.zadd('open', 5, 'req_1');
      await redis.hset('account', 'reserved', 100, 'spent', 7);
    },
    counters: [['rate'], ['account', 'spent'], ['account', 'reserved'], ['reservation', 'charges']],
  },
  admit: {
    source: 'admit',
    keys: { slots: 'sorted set', rate: 'string' },
    args: [NOW, 'req_1', '60000', 'slots', '3', 'rate', '10'],
    numbers: [0, 2, 4, 6],
    before: () => redis.zadd('slots', 5, 'req_0'),
    counters: [['rate']],
  },
  free: {
    source: 'free',
    keys: { slots: 'sorted set' },
    args: [NOW, 'req_1'],
    numbers: [0],
    before: () => redis.zadd('slots', 5, 'req_1', 6, 'req_2'),
  },
  renew: {
    source: new URL('./limits/renew.lua', import.meta.url),
    keys: { slots: 'sorted set' },
    args: [NOW, '60000', 'req_1'],
    numbers: [0, 1],
    before: () => redis.zadd('slots', 5, 'req_1'),
  },
  'put-records': {
    source: new URL('./keys/records/put-records.lua', import.meta.url),
    keys: { versions: 'hash', record: 'string', other: 'string' },
    args: [
      'hash:',
      ...['key:key_1', '7', '{"id":"key_1"}', 'key_1', '1', 'of-a-secret'],
      ...['team:red', '8', '{"id":"red"}', 'red', '0'],
    ],
    numbers: [2, 5, 8, 11],
    before: () => redis.hset('versions', 'key:key_1', 6, 'team:red', 5, '', 6),
    counters: [
      ['versions', 'key:key_1'],
      ['versions', 'team:red'],
      ['versions', ''],
    ],
  },
  'balance-accounts': {
    source: new URL('./ledger/balance-accounts.lua', import.meta.url),
    keys: { account: 'hash', other: 'hash', records: 'stream' },
    args: ['2', '100', '8640000', '60', '70', '0-0'],
    numbers: [0, 1, 2, 3, 4],
    before: () => redis.hset('account', 'spent', 7),
  },
  'charge-late': {
    source: new URL('./ledger/charge-late.lua', import.meta.url),
    keys: { ids: 'set', [redisNames.epoch]: 'any', account: 'hash' },
    args: ['req_1', '60', '86400', '8640000'],
    numbers: [1],
    before: () => redis.hset('account', 'spent', 7),
    counters: [['account', 'spent']],
  },
  'raise-account': {
    source: new URL('./ledger/raise-account.lua', import.meta.url),
    keys: { account: 'hash' },
    args: ['60', '8640000'],
    numbers: [0],
    before: () => redis.hset('account', 'spent', 7),
    counters: [['account', 'spent']],
  },
};

/** An operation's arguments come after the batch's, the time. */
const inBatch = (name: string, keyCount: number, [time = '', ...args]: readonly string[]) => [
  ...[time, name, keyCount, args.length],
  ...args,
];

async function run({ source, keys }: Script, args: readonly string[]): Promise<void> {
  const names = Object.keys(keys);
  if (source instanceof URL) {
    await redis.eval(loadScript(source), names.length, ...names, ...args);
    return;
  }
  const batch = inBatch(source, names.length, args);
  const [answer] = z
    .array(z.unknown())
    .parse(await redis.eval(RUN_OPERATIONS, names.length, ...names, ...batch));
  if (answer instanceof Error) throw answer;
}
const withArgument = (args: readonly string[], at: number, value: string) => args.with(at, value);

/** The whole content of Redis. */
async function contents(): Promise<Record<string, string | undefined>> {
  const names = (await redis.keys('*')).toSorted();
  const dumps = await Promise.all(names.map((name) => redis.dumpBuffer(name)));
  return Object.fromEntries(names.map((name, at) => [name, dumps[at]?.toString('hex')]));
}

async function expectNothingChanged(script: Script, args: readonly string[]): Promise<void> {
  const before = await contents();
  await expect(run(script, args)).rejects.toThrow();
  expect(await contents()).toEqual(before);
}

const GARBAGE = ['12.5', '-1', 'nan', '1e300', 'x', '-0.5'];
const each = Object.entries(SCRIPTS);

test.for(each)('%s writes its arguments when all of them are right', async ([, script]) => {
  await script.before?.();
  const before = await contents();
  await run(script, script.args);
  expect(await contents()).not.toEqual(before);
});

test.for(each)('%s writes nothing when one of its numbers is not a number', async ([, script]) => {
  await script.before?.();
  for (const at of script.numbers)
    for (const garbage of GARBAGE) await expectNothingChanged(script, withArgument(script.args, at, garbage));
});

test.for(each)('%s writes nothing when a key holds something else', async ([, script]) => {
  for (const [name, type] of Object.entries(script.keys)) {
    if (type === 'any') continue;
    await emptyRedis(redis);
    await script.before?.();
    await redis.del(name);
    if (type === 'string') await redis.hset(name, 'a', 'b');
    else await redis.set(name, 'x');
    const before = await contents();
    // A reservation of another type counts as one that exists, and stays as it is.
    await run(script, script.args).catch(() => undefined);
    expect(await contents()).toEqual(before);
  }
});

test.for(each)('%s writes nothing when a counter that it would add to is broken', async ([, script]) => {
  for (const [name, field] of script.counters ?? [])
    for (const garbage of ['12.5x', '1e3x', '99999999999999999999x']) {
      await emptyRedis(redis);
      await script.before?.();
      if (field === undefined) await redis.set(name, garbage);
      else await redis.hset(name, field, garbage);
      await expectNothingChanged(script, script.args);
    }
});

test('a script without a time argument uses the clock of Redis', async () => {
  const { admit } = SCRIPTS;
  if (admit === undefined) throw new Error('no script');
  await run(admit, withArgument(admit.args, 0, ''));
  const [seconds] = await redis.time();
  const until = Number(await redis.zscore('slots', 'req_1'));
  expect(until).toBeGreaterThan((Number(seconds) - 60) * 1000 + 60_000);
  expect(until).toBeLessThanOrEqual((Number(seconds) + 1) * 1000 + 60_000);
});
