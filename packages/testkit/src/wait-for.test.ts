import { expect, test } from 'vitest';
import { waitFor } from './wait-for.ts';

test('a condition that holds at last gives its value', async () => {
  let asked = 0;
  expect(await waitFor(() => ++asked === 3 && 'third')).toBe('third');
});

test('a condition that throws is asked again', async () => {
  let asked = 0;
  await waitFor(() => {
    expect(++asked).toBe(2);
    return true;
  });
});

test('a condition that never holds is named, with what it threw last', async () => {
  const cause = new Error('not yet');
  const waiting = waitFor(() => Promise.reject(cause), { timeoutMs: 1, what: 'the moon' });
  await expect(waiting).rejects.toMatchObject({ message: 'the moon did not hold within 1 ms', cause });
});
