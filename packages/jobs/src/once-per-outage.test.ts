import { expect, test } from 'vitest';
import { oncePerOutage } from './once-per-outage.ts';

test('the same error is told once, another one at once', () => {
  const told: unknown[] = [];
  const tell = oncePerOutage((error) => told.push(error));
  const [first, other] = [new Error('no connection'), new Error('something else')];
  for (const error of [first, new Error('no connection'), other, first]) tell(error);
  expect(told).toEqual([first, other]);
});
