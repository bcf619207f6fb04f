import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createEventFeed, type EventFeed } from './event-feed.ts';
import { createEventLog, type EventLog } from './event-log.ts';
import { followLog } from './follow-log.ts';

/** A log as several processes write and read it. */

let server: TestRedis;
let redis: Redis;
let feed: EventFeed;
let log: EventLog;
const keysOf = (id: string) => ({ head: `gateway:{test}:${id}:head`, entries: `gateway:{test}:${id}` });
const options = { keysOf, names: ['text'], maxBytes: 100, begins: true, unendedSeconds: 60 } as const;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  feed = createEventFeed({ redisUrl: server.url, onError: () => undefined });
});
beforeEach(async () => {
  await redis.flushall();
  log = createEventLog({ ...options, redis, beyond: 'drop-oldest' });
});
afterAll(async () => {
  feed.close();
  redis.disconnect();
  await server.close();
});

const staying = new AbortController().signal;
const end = { fields: { ending: '1' }, headSeconds: 30, seconds: 30 };
const append = (...texts: string[]) =>
  log.append(
    'one',
    texts.map((text) => [text]),
  );

/** What a reader gets until the log has ended, or the signal is aborted. */
async function readAll(after = -1, signal = staying): Promise<string[]> {
  const texts: string[] = [];
  for await (const { entries, rest } of followLog({ log, feed, id: 'one', after, signal })) {
    texts.push(...entries.map(({ number, values }) => `${number} ${values.join()}`));
    if (rest === 'ended') break;
  }
  return texts;
}

test('every reader gets each entry once, from its position to the end, whoever appended it', async () => {
  const readers = [readAll(), readAll(), readAll(4)];
  for (let at = 0; at < 10; at += 2) await Promise.all([append(`${at}`), append(`${at + 1}`)]);
  await log.end('one', { ...end, entries: [['last']] });
  const expected = [...Array.from({ length: 10 }, (_, at) => `${at} ${at}`), '10 last'];
  expect(await Promise.all(readers)).toEqual([expected, expected, expected.slice(5)]);
  expect(await readAll()).toEqual(expected);
});

test('entries that come at once are pages of one answer', async () => {
  log = createEventLog({ ...options, redis, beyond: 'full', maxBytes: 10_000 });
  await append(...Array.from({ length: 450 }, (_, at) => `${at}`));
  await log.end('one', end);
  expect(await readAll()).toHaveLength(450);
});

test('beyond its bytes a log drops the oldest entries, never the newest, or takes no more', async () => {
  await append('a'.repeat(60), 'b'.repeat(30));
  await append('c'.repeat(40));
  expect((await log.read('one', -1)).entries.map(({ number }) => number)).toEqual([1, 2]);
  await append('d'.repeat(1000));
  expect(await log.read('one', -1)).toMatchObject({ entries: [{ number: 3 }], last: 3, rest: 'more' });
  const full = createEventLog({ ...options, redis, beyond: 'full' });
  await full.append('two', [['a'.repeat(60)]]);
  expect(await full.append('two', [['b'.repeat(60)]])).toBe(true);
  expect(await full.read('two', -1)).toMatchObject({ entries: [{ number: 0 }], rest: 'full' });
});

test('a log ends once, takes nothing afterwards, and is forgotten', async () => {
  await append('a');
  expect(await Promise.all([log.end('one', end), log.end('one', end)])).toEqual([true, false]);
  expect(await append('late')).toBe(false);
  expect(await readAll()).toEqual(['0 a']);
  const { head, entries } = keysOf('one');
  for (const key of [head, entries]) expect(await redis.ttl(key)).toBeLessThanOrEqual(30);
  await log.remove('one');
  expect(await redis.keys('*')).toEqual([]);
  expect(await log.read('one', 0)).toMatchObject({ entries: [], rest: 'gone' });
});

test('one that begins with its owner takes nothing before that', async () => {
  const owned = createEventLog({ ...options, redis, beyond: 'full', begins: false });
  expect(await owned.append('one', [['a']])).toBe(false);
  expect(await owned.end('one', end)).toBe(false);
  expect(await redis.keys('*')).toEqual([]);
});

test('a reader that is told to stop gets what is there by then', async () => {
  const stopping = new AbortController();
  const reading = readAll(-1, stopping.signal);
  await waitFor(async () => (await redis.pubsub('NUMSUB', keysOf('one').entries))[1] === 1);
  await append('a', 'b');
  stopping.abort();
  expect(await reading).toEqual(['0 a', '1 b']);
  await waitFor(async () => (await redis.pubsub('NUMSUB', keysOf('one').entries))[1] === 0);
});

test('readers whose connection was lost look again', async () => {
  const reading = readAll();
  await waitFor(async () => (await redis.pubsub('NUMSUB', keysOf('one').entries))[1] === 1);
  await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await append('a');
  await log.end('one', end);
  expect(await reading).toEqual(['0 a']);
});

test('entries that a failover lost leave a gap, and a reader who had them misses none of the next', async () => {
  const { entries: key } = keysOf('one');
  await append('0', '1');
  const replica = await redis.dumpBuffer(key);
  await append('2', '3');
  const reader = readAll(3);
  await redis.restore(key, 0, replica, 'REPLACE');
  await append('4');
  await log.end('one', { ...end, entries: [['last']] });
  expect(await reader).toEqual(['4 4', '5 last']);
  expect(await readAll()).toEqual(['0 0', '1 1', '4 4', '5 last']);
});
