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

test("an owner's task waits for one task of another owner, not for all of them", async () => {
  const thread = threadOf(60_000, 60_000);
  const done: string[] = [];
  const run = (owner: string) => thread.run(task('double'), { owner }).then(() => done.push(owner));
  await Promise.all(['a', 'a', 'a', 'a', 'b'].map(run));
  expect(done).toEqual(['a', 'b', 'a', 'a', 'a']);
});

test('a task for which nobody waits any longer is not begun, and the result of one that has begun is dropped', async () => {
  const thread = threadOf(60_000, 60_000);
  const [running, waiting] = [new AbortController(), new AbortController()];
  const left = [running, waiting].map(({ signal }, at) =>
    // What is not to run would end the thread.
    thread.run(task(at === 0 ? 'double' : 'crash'), { signal }),
  );
  const next = thread.run(task('double'));
  for (const caller of [running, waiting]) caller.abort(new Error('left'));
  expect(await Promise.allSettled(left)).toMatchObject([
    { reason: { message: 'left' } },
    { reason: { message: 'left' } },
  ]);
  expect(await next).toEqual(new Uint8Array([2, 4]));
  await expect(thread.run(task('double'), { signal: running.signal })).rejects.toThrow('left');
});
