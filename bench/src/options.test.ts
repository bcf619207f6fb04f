import { expect, test } from 'vitest';
import { readOptions } from './options.ts';

const read = (...args: string[]) => readOptions(args, ['small', 'agent']);

test('without arguments every row is measured', () => {
  expect(read()).toEqual({ only: [], rounds: 3, seconds: 5, streams: 500, warmUp: 25_000 });
});

test('--only picks rows, and may be repeated', () => {
  expect(read('--only', 'small', '--only', 'agent')?.only).toEqual(['small', 'agent']);
});

test('--warm-up is the number of requests before the measured ones', () => {
  expect(read('--warm-up', '300')?.warmUp).toBe(300);
});

test.for([
  { args: ['--only', 'unknown'] },
  { args: ['--rounds', '0'] },
  { args: ['--seconds', 'ten'] },
  { args: ['--help'] },
])('$args shows the usage', ({ args }) => {
  expect(read(...args)).toBeNull();
});
