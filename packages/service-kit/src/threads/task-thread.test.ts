import { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import type { OddTask } from '../fixtures/odd-tasks.ts';
import { createTaskThread } from './task-thread.ts';

const threadOf = (timeLimitMs: number, idleMs = 0) =>
  createTaskThread<OddTask, unknown>({
    module: new URL('../fixtures/odd-tasks.ts', import.meta.url),
    timeLimitMs,
    maxHeapMb: 24,
    idleMs,
    onTooMuch: () => new GatewayError('request_too_large', 'Too much.'),
  });
const task = (name: OddTask['name']): OddTask => ({ name, bytes: new Uint8Array([1, 2]) });

test('tasks are done one after the other, and what they throw reaches their own caller', async () => {
  const thread = threadOf(60_000);
  const [first, refused, crashed, last] = await Promise.allSettled(
    (['double', 'refuse', 'crash', 'double'] as const).map((name) => thread.run(task(name))),
  );
  expect(first).toEqual({ status: 'fulfilled', value: new Uint8Array([2, 4]) });
  expect(refused).toMatchObject({ reason: { code: 'invalid_value', options: { path: ['text'] } } });
  expect(crashed).toMatchObject({ reason: { message: 'a bug' } });
  expect(last).toEqual(first);
});

test('a task that takes too long or too much memory is given up, and the next one is done', async () => {
  const thread = threadOf(2000, 60_000);
  for (const name of ['take forever', 'take all memory'] as const) {
    await expect(thread.run(task(name))).rejects.toMatchObject({ code: 'request_too_large' });
    expect(await thread.run(task('double'))).toEqual(new Uint8Array([2, 4]));
  }
});

test('a thread has no variable of its process', async () => {
  expect(await threadOf(60_000).run(task('environment'))).toEqual([]);
});
