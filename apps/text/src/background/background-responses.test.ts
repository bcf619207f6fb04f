import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type BackgroundResponses,
  createBackgroundResponses,
  eventsKey,
  framesOf,
} from './background-responses.ts';

/** The state of a background response and its log, as several processes change them. */

let server: TestRedis;
let redis: Redis;
let responses: BackgroundResponses;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
beforeEach(async () => {
  await redis.flushall();
  responses = createBackgroundResponses({ redis, ttlSeconds: 60, eventsTtlSeconds: 30, maxLogBytes: 1000 });
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
});

const create = (keepsEvents = true) =>
  responses.create('resp_1', { owner: 'key_one', response: { id: 'resp_1' }, isKept: false, keepsEvents });
const eventsAfter = async (id: string, number: number) => {
  const page = await responses.log.read(id, number);
  return { frames: framesOf(page), last: page.last, rest: page.rest };
};
const event = (text: string) => ({ type: 'response.output_text.delta', rest: { delta: text } });
const ending = (status: 'completed' | 'cancelled') => ({
  status,
  response: { id: 'resp_1', output: [] },
  headers: {},
  events: [{ type: 'response.completed', rest: {} }],
});

test('it is begun by one worker, and by none after its end', async () => {
  await create();
  const begun = await Promise.all(Array.from({ length: 5 }, () => responses.begin('resp_1')));
  expect(begun.filter(Boolean)).toHaveLength(1);
  await responses.end('resp_1', ending('cancelled'));
  expect(await responses.begin('resp_1')).toBe(false);
  expect(await responses.begin('resp_unknown')).toBe(false);
});

test('it is ended by one process: the first decides how', async () => {
  await create();
  expect(await responses.end('resp_1', ending('cancelled'))).toBe(true);
  expect(await responses.end('resp_1', ending('completed'))).toBe(false);
  expect(await responses.find('resp_1')).toMatchObject({ status: 'cancelled' });
  expect(await responses.end('resp_unknown', ending('completed'))).toBe(false);
});

test('events are numbered by the log, in whatever process they are appended, and none after the end', async () => {
  await create();
  await Promise.all(upTo(20).map((number) => responses.append('resp_1', [event(`event ${number}`)])));
  await responses.end('resp_1', ending('completed'));
  expect(await responses.append('resp_1', [event('late')])).toBe(false);
  const { frames, last, rest } = await eventsAfter('resp_1', -1);
  expect(frames.map((frame) => /"sequence_number":(\d+)/.exec(frame)?.[1])).toEqual(upTo(21).map(String));
  expect(frames.at(-1)).toBe(
    'event: response.completed\ndata: {"type":"response.completed","sequence_number":20}\n\n',
  );
  expect({ last, rest }).toEqual({ last: 20, rest: 'ended' });
  expect(await eventsAfter('resp_1', 20)).toEqual({ frames: [], last: 20, rest: 'ended' });
});

test('a log beyond its bound is full, and is marked so after its last event', async () => {
  await create();
  await responses.append('resp_1', [event('a'.repeat(600))]);
  expect(await responses.append('resp_1', [event('b'.repeat(600))])).toBe(true);
  expect(await responses.append('resp_1', [event('c')])).toBe(true);
  expect(await eventsAfter('resp_1', -1)).toMatchObject({ last: 0, rest: 'full' });
  await responses.end('resp_1', ending('completed'));
  expect(await eventsAfter('resp_1', 0)).toMatchObject({ frames: [], rest: 'full' });
  expect(await responses.find('resp_1')).toMatchObject({ status: 'completed' });
});

test('one that was created without a stream has no log', async () => {
  await create(false);
  await responses.end('resp_1', ending('completed'));
  expect(await responses.hasEvents('resp_1')).toBe(false);
});

const ENDS = [
  ['the conversation store has', 'kept', 60],
  ['only this state has', { id: 'resp_1' }, 30],
] as const;

test.for(ENDS)('of one that %s nothing stays for ever, or after its deletion', async ([, response, ttl]) => {
  await create();
  await responses.append('resp_1', [event('a')]);
  const lifetimes = async () =>
    Promise.all(['gateway:{background}:response:resp_1', eventsKey('resp_1')].map((key) => redis.ttl(key)));
  for (const seconds of await lifetimes()) expect(seconds).toBeGreaterThan(86_400);
  await responses.end('resp_1', { ...ending('completed'), response });
  const [state = 0, events = 0] = await lifetimes();
  expect([state > ttl - 30 && state <= ttl, events > 0 && events <= 30]).toEqual([true, true]);
  await responses.remove('resp_1');
  expect(await redis.keys('*')).toEqual([]);
  expect(await eventsAfter('resp_1', 0)).toMatchObject({ rest: 'gone' });
});

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
