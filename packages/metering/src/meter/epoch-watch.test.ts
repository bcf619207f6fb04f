import { waitFor } from '@gateway/testkit/wait-for';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createEpochWatch } from './epoch-watch.ts';

/** A watch that looks every millisecond, at an epoch that the test sets. */
function watch(first: string | null) {
  let epoch: string | null | Error = first;
  let [looks, emptied] = [0, 0];
  const watched = createEpochWatch({
    readEpoch: async () => {
      looks += 1;
      if (epoch instanceof Error) throw epoch;
      return epoch;
    },
    onEmptied: () => {
      emptied += 1;
    },
    everyMs: 1,
  });
  onTestFinished(() => watched.close());
  /** Resolves after two further looks. */
  const looked = async () => {
    const before = looks;
    await waitFor(() => {
      watched.wake();
      return looks >= before + 2;
    });
  };
  return {
    wake: watched.wake,
    looked,
    become: async (next: string | null | Error) => {
      epoch = next;
      await looked();
    },
    looks: () => looks,
    emptied: () => emptied,
  };
}

test('an emptied Redis is noticed when the epoch goes, and when there is another one', async () => {
  const { become, emptied, looked } = watch('one');
  await looked();
  expect(emptied()).toBe(0);
  await become(null);
  expect(emptied()).toBe(1);
  await become('two');
  expect(emptied()).toBe(2);
  await become('three');
  expect(emptied()).toBe(3);
});

test('a Redis that is away is not one that was emptied', async () => {
  const { become, emptied } = watch('one');
  await become('one');
  await become(new Error('away'));
  await become('one');
  expect(emptied()).toBe(0);
});

test('it looks for some rounds after something was written, and then no longer', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { wake, looks } = watch('one');
  wake();
  await vi.advanceTimersByTimeAsync(1000);
  expect(looks()).toBe(11);
});
