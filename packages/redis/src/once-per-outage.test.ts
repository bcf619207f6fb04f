import { expect, test } from 'vitest';
import { oncePerOutage } from './once-per-outage.ts';

test('the same error is reported once, another one at once', () => {
  const reported: unknown[] = [];
  const report = oncePerOutage((error) => reported.push(error));
  const [first, other] = [new Error('no connection'), new Error('something else')];
  for (const error of [first, new Error('no connection'), other, first]) report(error);
  expect(reported).toEqual([first, other]);
});
