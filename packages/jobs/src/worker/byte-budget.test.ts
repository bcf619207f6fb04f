import { expect, test } from 'vitest';
import { createByteBudget } from './byte-budget.ts';

const staying = new AbortController().signal;

test('no more bytes are lent than there are, and the first to wait is served first', async () => {
  const budget = createByteBudget(10);
  const first = await budget.take(6, staying);
  const order: string[] = [];
  const large = budget.take(8, staying).then((loan) => {
    order.push('large');
    return loan;
  });
  const small = budget.take(2, staying).then((loan) => {
    order.push('small');
    return loan;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual([]);
  first[Symbol.dispose]();
  await Promise.all([large, small]);
  expect(order).toEqual(['large', 'small']);
});

test('what is larger than all there is runs alone', async () => {
  const budget = createByteBudget(10);
  const all = await budget.take(1000, staying);
  expect(all.bytes).toBe(10);
  const after = budget.take(1, staying);
  all[Symbol.dispose]();
  expect((await after).bytes).toBe(1);
});

test('one that stops waiting frees its bytes for those after it', async () => {
  const budget = createByteBudget(10);
  await budget.take(5, staying);
  const leaving = new AbortController();
  const large = budget.take(8, leaving.signal);
  const small = budget.take(5, staying);
  leaving.abort(new Error('left'));
  await expect(large).rejects.toThrow('left');
  expect((await small).bytes).toBe(5);
});
