import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { loadScript } from './load-script.ts';

/** Every script carries out all of its writes or none, whatever it is given and whatever it finds. */

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
});
beforeEach(() => redis.flushall());

/** `any`: what is there is replaced, whatever it is. */
type Type = 'any' | 'string' | 'hash' | 'sorted set' | 'set' | 'stream';

interface Script {
  readonly file: string;
  /** With what each holds. */
  readonly keys: Readonly<Record<string, Type>>;
  readonly args: readonly string[];
  /** Places in `args` that hold a number. */
  readonly numbers: readonly number[];
  /** Places in `args` that hold JSON. */
  readonly json?: readonly number[];
  /** What stands in Redis before. */
  readonly before?: () => Promise<unknown>;
  /** What could stand there and be wrong: a field of a hash, or a string. */
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
  ...[NOW, 'req_1', mode, '{"tokens":12,"microUsd":30}', JSON.stringify(record), 'key_1:'],
  ...['86400', '86400', 'requests', '1', 'inputTokens', '12'],
];

const SCRIPTS: Readonly<Record<string, Script>> = {
  reserve: {
    file: 'ledger/reserve.lua',
    keys: { reservation: 'hash', open: 'sorted set', rate: 'string', account: 'hash' },
    args: [NOW, 'req_1', '60000', '{}', ...reserve],
    numbers: [0, 2, 6, 7, 10, 11],
    counters: [['rate'], ['account', 'spent'], ['account', 'reserved']],
  },
  settle: {
    file: 'ledger/settle.lua',
    keys: { reservation: 'hash', open: 'sorted set', ids: 'set', records: 'stream', sums: 'hash' },
    args: settle('ended'),
    numbers: [0, 6, 7, 9, 11],
    json: [3, 4],
    before: async () => {
      await redis.hset('reservation', 'charges', JSON.stringify(charges));
      await redis.zadd('open', 5, 'req_1');
      await redis.hset('account', 'reserved', 100, 'spent', 7);
    },
    counters: [
      ['rate'],
      ['account', 'spent'],
      ['account', 'reserved'],
      ['sums', 'key_1:requests'],
      ['reservation', 'charges'],
    ],
  },
  admit: {
    file: 'limits/admit.lua',
    keys: { places: 'sorted set', rate: 'string' },
    args: [NOW, 'req_1', '60000', 'places', '3', 'rate', '10'],
    numbers: [0, 2, 4, 6],
    before: () => redis.zadd('places', 5, 'req_0'),
    counters: [['rate']],
  },
  renew: {
    file: 'limits/renew.lua',
    keys: { places: 'sorted set' },
    args: [NOW, '60000', 'req_1'],
    numbers: [0, 1],
    before: () => redis.zadd('places', 5, 'req_1'),
  },
  'change-record': {
    file: 'keys/change-record.lua',
    keys: { record: 'string', index: 'sorted set', audit: 'stream', hash: 'any' },
    args: ['', '{"id":"key_1"}', 'key_1', '{"who":"me"}', '1000', '1'],
    numbers: [4, 5],
    json: [1, 3],
  },
};

const run = ({ file, keys }: Script, args: readonly string[]) => {
  const names = Object.keys(keys);
  return redis.eval(loadScript(new URL(file, import.meta.url)), names.length, ...names, ...args);
};
const withArgument = (args: readonly string[], at: number, value: string) => args.with(at, value);

/** Everything that Redis holds. */
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

test.for(each)('%s writes what it is given when all of it is right', async ([, script]) => {
  await script.before?.();
  const before = await contents();
  await run(script, script.args);
  expect(await contents()).not.toEqual(before);
});

test.for(each)('%s writes nothing when a number among its arguments is none', async ([, script]) => {
  await script.before?.();
  for (const at of script.numbers)
    for (const garbage of GARBAGE) await expectNothingChanged(script, withArgument(script.args, at, garbage));
});

test.for(each)('%s writes nothing when what it is to store cannot be read', async ([, script]) => {
  await script.before?.();
  for (const at of script.json ?? [])
    await expectNothingChanged(script, withArgument(script.args, at, '{"a'));
});

test.for(each)('%s writes nothing when a key holds something else', async ([, script]) => {
  for (const [name, type] of Object.entries(script.keys)) {
    if (type === 'any') continue;
    await redis.flushall();
    await script.before?.();
    await redis.del(name);
    if (type === 'string') await redis.hset(name, 'a', 'b');
    else await redis.set(name, 'x');
    const before = await contents();
    // A reservation of another type is taken for one that is there, and left as it is.
    await run(script, script.args).catch(() => undefined);
    expect(await contents()).toEqual(before);
  }
});

test.for(each)('%s writes nothing when a counter that it would add to is broken', async ([, script]) => {
  for (const [name, field] of script.counters ?? [])
    for (const garbage of ['12.5x', '1e3x', '99999999999999999999x']) {
      await redis.flushall();
      await script.before?.();
      if (field === undefined) await redis.set(name, garbage);
      else await redis.hset(name, field, garbage);
      await expectNothingChanged(script, script.args);
    }
});

test('settle writes no record whose consumption or cost is no amount', async () => {
  const { settle: script } = SCRIPTS;
  if (script === undefined) throw new Error('no script');
  await script.before?.();
  for (const wrong of [
    { ...record, consumption: { inputTokens: 12.5 } },
    { ...record, consumption: { inputTokens: null } },
    { ...record, costMicroUsd: 0.5 },
    { ...record, costMicroUsd: -1 },
  ])
    await expectNothingChanged(script, withArgument(script.args, 4, JSON.stringify(wrong)));
  await expectNothingChanged(script, withArgument(script.args, 3, '{"tokens":12.5}'));
});

test('a script that is given no time counts by the clock of Redis', async () => {
  const { admit } = SCRIPTS;
  if (admit === undefined) throw new Error('no script');
  await run(admit, withArgument(admit.args, 0, ''));
  const [seconds] = await redis.time();
  const until = Number(await redis.zscore('places', 'req_1'));
  expect(until).toBeGreaterThan((Number(seconds) - 60) * 1000 + 60_000);
  expect(until).toBeLessThanOrEqual((Number(seconds) + 1) * 1000 + 60_000);
});
