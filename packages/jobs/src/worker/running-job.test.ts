import { expect, test } from 'vitest';
import { runStoppable } from './running-job.ts';

test('work beyond its time limit ends as upstream_timeout, even if it ignores its signal', async () => {
  const deaf = () => new Promise<never>(() => undefined);
  await expect(runStoppable(deaf, { stopper: new AbortController(), timeLimitMs: 1 })).rejects.toMatchObject({
    code: 'upstream_timeout',
    retry: false,
  });
});

test('the reason for stopping is what is thrown, whatever the work throws', async () => {
  const stopper = new AbortController();
  const run = (signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('some other error')));
    });
  const ended = runStoppable(run, { stopper, timeLimitMs: 60_000 });
  stopper.abort(new Error('the reason'));
  await expect(ended).rejects.toThrow('the reason');
});

test('work that was stopped before it began is not begun', async () => {
  const stopper = new AbortController();
  stopper.abort(new Error('too late'));
  let begun = false;
  const run = async () => {
    begun = true;
  };
  await expect(runStoppable(run, { stopper, timeLimitMs: 60_000 })).rejects.toThrow('too late');
  expect(begun).toBe(false);
});
