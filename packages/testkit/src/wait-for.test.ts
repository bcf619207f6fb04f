import { expect, test } from 'vitest';
import { waitFor } from './wait-for.ts';

test('the value of a condition that holds at last is returned', async () => {
  let calls = 0;
  expect(await waitFor(() => ++calls === 3 && 'third')).toBe('third');
});

test('a condition that throws is tried again', async () => {
  let calls = 0;
  await waitFor(() => {
    expect(++calls).toBe(2);
    return true;
  });
});

test('a condition that never holds is named, with what it threw last', async () => {
  const cause = new Error('not yet');
  const waiting = waitFor(() => Promise.reject(cause), { timeoutMs: 1, what: 'the moon' });
  await expect(waiting).rejects.toMatchObject({ message: 'the moon did not hold within 1 ms', cause });
});
