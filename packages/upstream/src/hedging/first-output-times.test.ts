import { expect, test } from 'vitest';
import { FirstOutputTimes } from './first-output-times.ts';

const observed = (values: readonly number[]): FirstOutputTimes => {
  const times = new FirstOutputTimes();
  for (const value of values) times.observe(value);
  return times;
};

/** Within a bucket: never too low, at most a tenth too high. */
const expectAbout = (actual: number, exact: number) => {
  expect(actual).toBeGreaterThanOrEqual(exact * 0.999);
  expect(actual).toBeLessThanOrEqual(exact * 1.101);
};

test('the estimate is at most a tenth above the time within which that share came', () => {
  const values = Array.from({ length: 200 }, (_, index) => 100 + ((index * 37) % 200));
  expectAbout(observed(values).quantile(0.95), 290);
  expectAbout(observed([250]).quantile(0.95), 250);
  expect(new FirstOutputTimes().quantile(0.95)).toBe(0);
});

test('what was slow fades when it is quick again, and the other way round', () => {
  const slowThenQuick = observed([...Array(1000).fill(5000), ...Array(800).fill(50)]);
  expectAbout(slowThenQuick.quantile(0.95), 50);
  const quickThenSlow = observed([...Array(1000).fill(50), ...Array(100).fill(5000)]);
  expectAbout(quickThenSlow.quantile(0.95), 5000);
});

test('a million observations, and times out of all bounds, leave it a number', () => {
  const times = observed([0, -1, Number.MAX_VALUE]);
  for (let count = 0; count < 1_000_000; count += 1) times.observe(200);
  expectAbout(times.quantile(0.95), 200);
  expect(times.count).toBe(1_000_003);
});
