import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newJobId } from '../redis/job-keys.ts';
import { readLines } from './batch-lines.ts';
import { keepLineStates } from './line-states.ts';

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

const state = (status: 'queued' | 'in_progress' | 'completed') => ({
  ...{ status, errorCode: null, errorMessage: null },
});
const failed = (errorMessage: string) => ({
  ...({ status: 'failed', errorCode: 'invalid_value', errorMessage } as const),
});

const batchOf = (id: string, more: object = {}) => ({
  ...({ id, kind: 'text.batch', total: 7, status: 'in_progress', errorCode: null } as const),
  ...more,
});
const read = (batch: ReturnType<typeof batchOf>, query: object = {}) =>
  readLines({ redis, queues: [] }, batch, { limit: 100, after: 0, ...query });

test('the lines of a batch of text are shown as they were kept last, and the others as not begun', async () => {
  const id = newJobId();
  await keepLineStates(redis, id, { from: 0, states: [state('completed'), state('in_progress')] });
  await keepLineStates(redis, id, { from: 1, states: [failed('No such model.'), state('queued')] });
  await keepLineStates(redis, id, { from: 4, states: [state('in_progress')] });
  const { lines, next } = await read(batchOf(id));
  expect(lines.map(({ status }) => status)).toEqual([
    ...['completed', 'failed', 'queued', 'queued', 'in_progress', 'queued', 'queued'],
  ]);
  expect(lines[1]).toMatchObject({ line: 2, errorCode: 'invalid_value', errorMessage: 'No such model.' });
  expect(next).toBeNull();
  const { lines: cancelled } = await read(batchOf(id, { status: 'cancelled' }), { status: 'cancelled' });
  expect(cancelled.map(({ line }) => line)).toEqual([3, 4, 6, 7]);
});

test('lines of one status are found page by page, and a long reason is cut', async () => {
  const id = newJobId();
  const states = [failed('x'.repeat(1000)), state('completed'), failed('Two.'), failed('Three.')];
  await keepLineStates(redis, id, { from: 2, states });
  const first = await read(batchOf(id), { status: 'failed', limit: 2 });
  expect(first.lines.map(({ line }) => line)).toEqual([3, 5]);
  expect(first.lines[0]?.errorMessage).toHaveLength(200);
  const rest = await read(batchOf(id), { status: 'failed', limit: 2, after: first.next });
  expect(rest.lines.map(({ errorMessage }) => errorMessage)).toEqual(['Three.']);
});
