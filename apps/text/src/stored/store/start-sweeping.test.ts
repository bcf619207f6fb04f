import { waitFor } from '@gateway/testkit/wait-for';
import { expect, test } from 'vitest';
import { startSweeping } from './start-sweeping.ts';

test('what has expired is swept again and again, and an outage is reported once', async () => {
  const outcomes = [() => 2, fail, fail, () => 0, fail, () => 1];
  const swept: number[] = [];
  const problems: string[] = [];
  const sweeping = startSweeping({
    intervalMs: 1,
    conversations: { sweep: async () => (outcomes.shift() ?? (() => 5))() },
    onSwept: (count) => swept.push(count),
    onProblem: (reason) => problems.push(reason),
  });
  await waitFor(() => swept.length >= 4);
  await sweeping.close();
  expect(swept.slice(0, 4)).toEqual([2, 0, 1, 5]);
  expect(problems).toEqual(['away', 'away']);
});

function fail(): never {
  throw new Error('away');
}
