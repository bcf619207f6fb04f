import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openAssetStores } from '@gateway/assets/open-asset-stores';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createIdOrigins } from '../origins/id-origins.ts';
import type { ConversationStore, NewRecord, RecordKind } from './conversation-store.ts';
import { parseItem } from './item-json.ts';
import { partFilesIn } from './part-files.ts';
import { createConversationStore } from './redis-conversation-store.ts';

let server: TestRedis;
let redis: Redis;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let store: ConversationStore;
/** Another replica. */
let other: ConversationStore;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  folder = await temporaryFolder();
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
  await folder.close();
});
beforeEach(async () => {
  await redis.flushall();
  const stores = await openAssetStores({ url: folder.path });
  const files = partFilesIn(await stores.open('conversations'));
  for (const name of await filesLeft()) await files.remove(name);
  store = createConversationStore({ redis, files, idTtlSeconds: 60 });
  other = createConversationStore({ redis, files, idTtlSeconds: 60 });
});

const filesLeft = () => readdir(join(folder.path, 'conversations')).catch(() => []);

const message = (text: string, id: string | null = null) => ({
  id,
  json: JSON.stringify({ ...(id !== null && { id }), role: 'user', content: text }),
});
const LARGE = 'x'.repeat(20_000);

const record = (id: string, rest: Partial<NewRecord> = {}): NewRecord => ({
  owner: 'key_one',
  kind: 'response',
  id,
  input: [message(`question of ${id}`)],
  output: [message(`answer of ${id}`, `msg_of_${id}`)],
  data: { model: 'm' },
  retentionMs: 60_000,
  maxBytes: 0,
  ...rest,
});

const key = (id: string, owner = 'key_one', kind: RecordKind = 'response') => ({ owner, kind, id });
const contents = async (id: string, items: 'input' | 'output' | 'window', from = store) => {
  const found = await from.read(key(id), { retentionMs: 60_000, items });
  return found?.items.map(({ json }) => Object(parseItem(json)).content);
};

/** Everything but when something is due. */
const keysLeft = async () => (await redis.keys('gateway:store:*')).toSorted();

test('a record is read with its data, its input and its output, by another replica too', async () => {
  const data = { model: 'm', tools: [LARGE], count: 1 };
  expect(await store.put(record('r1', { data }))).toBe('stored');
  const found = await other.read(key('r1'), { retentionMs: null });
  expect(found?.record).toMatchObject({ data, depth: 1, items: 2, previous: null, missing: null });
  expect(await contents('r1', 'input', other)).toEqual(['question of r1']);
  expect(await contents('r1', 'output', other)).toEqual(['answer of r1']);
  expect(await contents('r1', 'window', other)).toEqual(['question of r1', 'answer of r1']);
});

test('numbers that JavaScript would change are kept as they were written', async () => {
  const json = '{"role":"user","content":"hi","n":12345678901234567890}';
  await store.put(record('r1', { input: [{ id: null, json }] }));
  const found = await store.read(key('r1'), { retentionMs: null, items: 'input' });
  expect(found?.items[0]?.json).toBe(json);
});

test('the window of a continued record is all that led to it; branches do not see each other', async () => {
  await store.put(record('r1'));
  await store.put(record('r2', { previous: 'r1' }));
  await other.put(record('r3', { previous: 'r2' }));
  await store.put(record('branch', { previous: 'r1' }));
  expect(await contents('r3', 'window')).toEqual(
    ['r1', 'r2', 'r3'].flatMap((id) => [`question of ${id}`, `answer of ${id}`]),
  );
  expect(await contents('branch', 'window')).toEqual(
    ['r1', 'branch'].flatMap((id) => [`question of ${id}`, `answer of ${id}`]),
  );
  expect(await contents('r3', 'input')).toEqual(['question of r3']);
  expect((await store.read(key('r3'), { retentionMs: null }))?.record.depth).toBe(3);
});

test('a long window is read in pieces and whole', async () => {
  const input = Array.from({ length: 1203 }, (_, index) => message(`item ${index}`));
  await store.put(record('r1', { input }));
  await store.put(record('r2', { previous: 'r1' }));
  const window = await contents('r2', 'window');
  expect(window).toHaveLength(1206);
  expect(window?.slice(1200, 1205)).toEqual([
    'item 1200',
    'item 1201',
    'item 1202',
    'answer of r1',
    'question of r2',
  ]);
});

test('a caller who sends the whole conversation each time has it kept once', async () => {
  const turns = 60;
  const text = 'y'.repeat(1000);
  const history: NewRecord['input'][number][] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    history.push(message(`question ${turn} ${text}`));
    const output = [message(`answer ${turn} ${text}`, `msg_${turn}`)];
    // Every second turn reaches the other replica.
    const replica = turn % 2 === 0 ? store : other;
    expect(await replica.put(record(`r${turn}`, { input: [...history], output }))).toBe('stored');
    history.push(...output);
  }
  expect(await store.usedBytes('key_one')).toBeLessThan(turns * 2 * 1400);
  expect(await contents(`r${turns - 1}`, 'window')).toHaveLength(turns * 2);
  for (let turn = 0; turn < turns; turn += 1) await store.remove(key(`r${turn}`));
  expect(await store.usedBytes('key_one')).toBe(0);
});

test('a chain of 200 turns costs 200 times what one costs, in bytes and in commands', async () => {
  const calls = async () => {
    const stats = await redis.info('commandstats');
    return [...stats.matchAll(/cmdstat_(?:h|z)\w+:calls=(\d+)/g)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    );
  };
  const turn = (number: number) =>
    record(`r${1000 + number}`, number === 0 ? {} : { previous: `r${999 + number}` });
  const costs: { bytes: number; commands: number }[] = [];
  let [bytes, commands] = [0, await calls()];
  for (let number = 0; number < 200; number += 1) {
    await store.read(key(`r${999 + number}`), { retentionMs: 60_000 });
    expect(await store.put(turn(number))).toBe('stored');
    const [usedBytes, used] = [await store.usedBytes('key_one'), await calls()];
    costs.push({ bytes: usedBytes - bytes, commands: used - commands });
    [bytes, commands] = [usedBytes, used];
  }
  expect(costs[199]?.bytes).toBe(costs[2]?.bytes);
  // Within one millisecond an expiry need not be moved on.
  expect(costs[199]?.commands).toBeLessThanOrEqual((costs[2]?.commands ?? 0) + 3);
  expect(await contents('r1199', 'window')).toHaveLength(400);
});

test('a large part is kept once outside of Redis for all records that refer to it, and goes with the last of them', async () => {
  const picture = message(LARGE);
  await store.put(record('r1', { input: [picture] }));
  await other.put(record('r2', { input: [message('another beginning'), picture] }));
  await waitFor(async () => (await filesLeft()).length === 1);
  await store.remove(key('r1'));
  expect(await contents('r2', 'input')).toEqual(['another beginning', LARGE]);
  await other.remove(key('r2'));
  expect(await filesLeft()).toEqual([]);
});

test('what is removed is gone from everywhere, and what continued it names what is missing', async () => {
  await store.put(record('r1', { input: [message(LARGE)], data: { tools: LARGE } }));
  await store.put(record('r2', { previous: 'r1', input: [message('secret of r2')] }));
  await store.put(record('r3', { previous: 'r2' }));
  expect(await store.remove(key('r2'))).toBe(true);
  expect(await store.remove(key('r2'))).toBe(false);
  const found = await store.read(key('r3'), { retentionMs: null, items: 'window' });
  expect(found).toMatchObject({ record: { missing: 'r2' }, items: [] });
  expect(await contents('r3', 'input')).toHaveLength(1);
  expect(await contents('r1', 'window')).toHaveLength(2);
  expect(await store.items('key_one', ['msg_of_r2'], 1e6)).toEqual([null]);
  const values = await redis.hvals('gateway:store:{key_one}:nodes');
  expect(values.some((value) => value.includes('secret of r2'))).toBe(false);
  await store.remove(key('r1'));
  await store.remove(key('r3'));
  expect(await filesLeft()).toEqual([]);
  expect(await keysLeft()).toEqual([
    'gateway:store:owners',
    'gateway:store:users',
    'gateway:store:{key_one}:sums',
  ]);
  expect(await store.usedBytes('key_one')).toBe(0);
});

test('another owner’s records and items do not exist', async () => {
  await store.put(record('r1'));
  expect(await store.read(key('r1', 'key_two'), { retentionMs: null })).toBeNull();
  expect(await store.items('key_two', ['msg_of_r1'], 1e6)).toEqual([null]);
  expect(await store.remove(key('r1', 'key_two'))).toBe(false);
  expect(await store.put(record('r2', { owner: 'key_two', previous: 'r1' }))).toBe('previous-not-found');
  expect(await store.read(key('r2', 'key_two'), { retentionMs: null })).toBeNull();
});

test('an item is found by its own id, and one without by the id that the store gave it', async () => {
  await store.put(record('r1', { input: [message('hi'), message(LARGE, 'msg_large')] }));
  const found = await store.read(key('r1'), { retentionMs: null, items: 'input' });
  const ids = found?.items.map(({ id }) => id) ?? [];
  expect(ids).toEqual([expect.stringMatching(/^msg_[0-9a-f]{32}$/), 'msg_large']);
  expect(await other.items('key_one', [...ids, 'msg_of_r1', 'msg_unknown'], 1e6)).toEqual([
    ...(found?.items ?? []),
    { id: 'msg_of_r1', json: message('answer of r1', 'msg_of_r1').json, maker: null },
    null,
  ]);
});

test('the same words later in a chain are another item', async () => {
  await store.put(record('r1', { input: [message('yes')] }));
  await store.put(record('r2', { previous: 'r1', input: [message('yes')] }));
  const found = await store.read(key('r2'), { retentionMs: null, items: 'window' });
  expect(new Set(found?.items.map(({ id }) => id)).size).toBe(4);
});

test('beyond its owner’s bound nothing is kept, and bytes that are freed can be used', async () => {
  const maxBytes = 1000;
  expect(await store.put(record('r1', { maxBytes }))).toBe('stored');
  expect(await store.put(record('r2', { maxBytes, input: [message('z'.repeat(900))] }))).toBe('full');
  expect(
    await store.put(record('r3', { maxBytes: 30_000, input: [message(LARGE)], data: { a: LARGE } })),
  ).toBe('full');
  expect(await store.read(key('r2'), { retentionMs: null })).toBeNull();
  await waitFor(async () => (await filesLeft()).length === 0);
  expect(await store.put(record('r4', { owner: 'key_two', maxBytes }))).toBe('stored');
  await store.remove(key('r1'));
  expect(await store.put(record('r5', { maxBytes }))).toBe('stored');
});

test('a replica that takes for kept what another one has removed sends it again', async () => {
  const input = [message('hi'), message(LARGE)];
  await store.put(record('r1', { input, data: { tools: LARGE } }));
  await other.remove(key('r1'));
  const again = record('r2', { input: [...input, message('more')], data: { tools: LARGE } });
  expect(await store.put(again)).toBe('stored');
  expect(await contents('r2', 'input', other)).toEqual(['hi', LARGE, 'more']);
});

test('a record that is put again replaces the former one', async () => {
  await store.put(record('r1', { output: [], data: { status: 'queued' } }));
  const used = await store.usedBytes('key_one');
  await other.put(record('r1', { data: { status: 'completed', tools: LARGE } }));
  expect(await contents('r1', 'window')).toEqual(['question of r1', 'answer of r1']);
  await store.put(record('r1', { output: [], data: { status: 'queued' } }));
  expect(await store.usedBytes('key_one')).toBe(used);
  await waitFor(async () => (await filesLeft()).length === 0);
});

test('a shared record is changed by one at a time, and what followed it keeps what it followed', async () => {
  const conversation = (rest: Partial<NewRecord>): NewRecord =>
    record('c1', { kind: 'conversation', retentionMs: null, input: [], output: [], ...rest });
  await store.put(conversation({}));
  const read = async () =>
    store.read(key('c1', 'key_one', 'conversation'), { retentionMs: null, items: 'window' });
  const empty = await read();
  expect(empty).toMatchObject({ record: { head: '', items: 0 }, items: [] });
  expect(await store.put(conversation({ expects: '', input: [message('one')] }))).toBe('stored');
  expect(await store.put(conversation({ expects: '', input: [message('lost')] }))).toBe('changed');
  const first = await read();
  if (first === null) throw new Error('the conversation is gone');
  const { record: after } = first;
  await store.put(record('r1', { after }));
  expect(await contents('r1', 'window')).toEqual(['one', 'question of r1', 'answer of r1']);
  expect(await contents('r1', 'input')).toEqual(['question of r1']);
  expect(await other.put(conversation({ expects: after.head, after, input: [message('two')] }))).toBe(
    'stored',
  );
  expect((await read())?.record).toMatchObject({ items: 2, depth: 1 });
  await store.remove(key('c1', 'key_one', 'conversation'));
  expect(await contents('r1', 'window')).toEqual(['one', 'question of r1', 'answer of r1']);
  expect(await store.put(conversation({ expects: after.head }))).toBe('changed');
  await store.remove(key('r1'));
  expect(await store.usedBytes('key_one')).toBe(0);
});

test('an id that a server gives twice never makes a record lead to itself', async () => {
  await store.put(record('r1'));
  await store.put(record('r2', { previous: 'r1' }));
  expect(await store.put(record('r2', { previous: 'r2' }))).toBe('taken');
  expect(await store.put(record('r1', { previous: 'r2' }))).toBe('taken');
  expect(await store.put(record('new', { previous: 'new' }))).toBe('taken');
  expect(await contents('r2', 'window')).toHaveLength(4);
});

test('a record of too many items is not kept', async () => {
  const input = Array.from({ length: 10_000 }, (_, index) => message(`item ${index}`));
  expect(await store.put(record('r1', { input }))).toBe('full');
  expect(await keysLeft()).toEqual([]);
  expect(await store.put(record('r1', { input, output: [] }))).toBe('stored');
});

test('many records at a time are kept, each by itself, also by a Redis that has forgotten the scripts', async () => {
  for (const round of ['first', 'second']) {
    const results = await Promise.all(
      Array.from({ length: 80 }, (_, index) =>
        store.put(record(`${round}${index}`, index % 10 === 9 ? { previous: 'unknown' } : {})),
      ),
    );
    expect(results.filter((result) => result === 'stored')).toHaveLength(72);
    expect(results.filter((result) => result === 'previous-not-found')).toHaveLength(8);
    expect(await contents(`${round}78`, 'input')).toEqual([`question of ${round}78`]);
    await redis.script('FLUSH');
  }
});

test('what may be continued once is continued once', async () => {
  await store.put(record('m1'));
  const [one, two] = await Promise.all([
    store.put(record('m2', { previous: 'm1', once: true })),
    other.put(record('m3', { previous: 'm1', once: true })),
  ]);
  expect([one, two].toSorted()).toEqual(['continued', 'stored']);
  const continuedBy = one === 'stored' ? 'm2' : 'm3';
  expect((await store.read(key('m1'), { retentionMs: null }))?.record.continuedBy).toBe(continuedBy);
});

test('a claim is one process’s until it is released or its lease is over', async () => {
  const claim = await store.claim('key_one', 'c1', 60_000);
  expect(await other.claim('key_one', 'c1', 60_000)).toBeNull();
  expect(await other.claim('key_two', 'c1', 60_000)).not.toBeNull();
  await claim?.release();
  const short = await other.claim('key_one', 'c1', 20);
  expect(await short?.renew(20)).toBe(true);
  const taken = await waitFor(() => store.claim('key_one', 'c1', 60_000));
  expect(await short?.renew(60_000)).toBe(false);
  await short?.release();
  expect(await other.claim('key_one', 'c1', 60_000)).toBeNull();
  await taken?.release();
});

test('what has expired is gone at once, and swept from everywhere', async () => {
  await store.put(record('r1', { retentionMs: 1, input: [message(LARGE)] }));
  await store.put(record('alive'));
  await waitFor(async () => (await store.read(key('r1'), { retentionMs: null })) === null);
  expect(await store.put(record('r2', { previous: 'r1' }))).toBe('previous-not-found');
  await waitFor(async () => (await other.sweep()) === 1);
  expect(await filesLeft()).toEqual([]);
  expect(await contents('alive', 'window')).toHaveLength(2);
  await store.remove(key('alive'));
  expect(await store.usedBytes('key_one')).toBe(0);
});

test('a Redis that refuses writes is read, and keeps nothing by halves', async () => {
  await store.put(record('r1'));
  const before = await store.usedBytes('key_one');
  await redis.config('SET', 'min-replicas-to-write', '1');
  try {
    expect(await contents('r1', 'window')).toHaveLength(2);
    await expect(store.put(record('r2', { previous: 'r1' }))).rejects.toThrow();
    await expect(store.remove(key('r1'))).rejects.toMatchObject({ code: 'service_unavailable' });
  } finally {
    await redis.config('SET', 'min-replicas-to-write', '0');
  }
  expect(await store.usedBytes('key_one')).toBe(before);
  expect(await store.read(key('r2'), { retentionMs: null })).toBeNull();
  expect(await contents('r1', 'window')).toHaveLength(2);
});

test('the retention of a whole conversation begins again when any of it is read or continued', async () => {
  await store.put(record('r1', { retentionMs: 1000 }));
  await store.put(record('r2', { retentionMs: 1000, previous: 'r1' }));
  await store.put(record('r3', { retentionMs: 3_600_000, previous: 'r1' }));
  const expires = await redis.zscore('gateway:store:{key_one}:expiry', 'response:r1');
  expect(Number(expires)).toBeGreaterThan(Date.now() + 3_000_000);
  await store.read(key('r2'), { retentionMs: 7_200_000 });
  const later = await redis.zscore('gateway:store:{key_one}:expiry', 'response:r1');
  expect(Number(later)).toBeGreaterThan(Number(expires) + 3_000_000);
  // Never sooner than before.
  await store.read(key('r2'), { retentionMs: 1 });
  expect(await redis.zscore('gateway:store:{key_one}:expiry', 'response:r1')).toBe(later);
});

test('a file that no record came to refer to is swept', async () => {
  const stores = await openAssetStores({ url: folder.path });
  const files = partFilesIn(await stores.open('conversations'));
  await files.put('conversation-left.json', Buffer.from('x'));
  await redis.zadd('gateway:store:{key_one}:unused-files', 1, 'conversation-left.json');
  await redis.zadd('gateway:store:owners', 1, 'key_one');
  await store.sweep();
  expect(await filesLeft()).toEqual([]);
  expect(await redis.zcard('gateway:store:{key_one}:unused-files')).toBe(0);
});

test('the ids of a reply are remembered in the same write, each for the key that received it first', async () => {
  const origins = createIdOrigins({ redis, ttlSeconds: 60 });
  const origin = { keyId: 'key_one', channel: 'c', model: 'm', requestedModel: 'm' };
  const ids = [
    { kind: 'response', id: 'r1' },
    { kind: 'item', id: 'msg_of_r1' },
  ] as const;
  const before = await redis.info('commandstats');
  await store.put(record('r1', { received: { ids, origin } }));
  const calls = (stats: string, command: string) =>
    Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  const after = await redis.info('commandstats');
  expect(
    calls(after, 'evalsha') + calls(after, 'eval') - calls(before, 'evalsha') - calls(before, 'eval'),
  ).toBeLessThan(3);
  expect(await origins.find(ids, { keyId: 'key_one', owners: ['key_one'] })).toEqual([origin, origin]);
  await store.put(
    record('r9', { owner: 'key_two', received: { ids, origin: { ...origin, keyId: 'key_two' } } }),
  );
  expect(await origins.find(ids, { keyId: 'key_one', owners: ['key_one'] })).toEqual([origin, origin]);
});

test('a record is not replaced by another answer of the same id, but by the same write that comes twice', async () => {
  const first = record('resp_1', { writer: 'one' });
  expect(await store.put(first)).toBe('stored');
  expect(await other.put(record('resp_1', { writer: 'two', output: [message('another')] }))).toBe('taken');
  expect(await store.put(first)).toBe('stored');
  expect(await contents('resp_1', 'output')).toEqual(['answer of resp_1']);
  const ended = record('resp_1', { output: [message('its end')] });
  expect(await store.put(ended)).toBe('stored');
  expect(await contents('resp_1', 'output')).toEqual(['its end']);
  expect(await store.put(record('resp_1', { writer: 'three' }))).toBe('taken');
});
