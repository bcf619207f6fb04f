import { expect, test } from 'vitest';
import { LinePlaces } from './line-places.ts';

const NEVER = new AbortController().signal;

/** Lines that take places of `places`, in the order in which they get them. */
function queueIn(places: LinePlaces) {
  const begun: string[] = [];
  const held = new Map<string, Disposable>();
  const take = (name: string, keyId: string, share = {}, signal = NEVER) =>
    places.take({ keyId, share }, signal).then((place) => {
      begun.push(name);
      held.set(name, place);
    });
  const end = async (name: string) => {
    held.get(name)?.[Symbol.dispose]();
    await new Promise(setImmediate);
  };
  return { begun, take, end };
}

test('what becomes free goes to the key that has fewest lines at work', async () => {
  const { begun, take, end } = queueIn(new LinePlaces(2));
  await Promise.all([take('a1', 'a'), take('a2', 'a')]);
  for (const name of ['a3', 'a4', 'a5']) void take(name, 'a');
  void take('b1', 'b');
  await end('a1');
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await end('b1');
  expect(begun.at(-1)).toBe('a3');
});

test('a key of twice the weight has twice as many at work', async () => {
  const { begun, take, end } = queueIn(new LinePlaces(6));
  await Promise.all(Array.from({ length: 6 }, (_, n) => take(`first ${n}`, 'first')));
  for (let n = 0; n < 6; n += 1) {
    void take(`light ${n}`, 'light');
    void take(`heavy ${n}`, 'heavy', { jobWeight: 2 });
  }
  for (let n = 0; n < 6; n += 1) await end(`first ${n}`);
  const later = begun.slice(6);
  expect(later.filter((name) => name.startsWith('heavy'))).toHaveLength(4);
  expect(later.filter((name) => name.startsWith('light'))).toHaveLength(2);
});

test('a key has no more at work than its concurrent jobs, and does not hold up others', async () => {
  const { begun, take, end } = queueIn(new LinePlaces(4));
  const share = { concurrentJobs: 1 };
  for (const name of ['a1', 'a2', 'a3']) void take(name, 'a', share);
  await take('b1', 'b');
  expect(begun).toEqual(['a1', 'b1']);
  await end('a1');
  expect(begun).toEqual(['a1', 'b1', 'a2']);
});

test('who no longer waits gets no place, and keeps none from others', async () => {
  const { begun, take, end } = queueIn(new LinePlaces(1));
  await take('a1', 'a');
  const leaving = new AbortController();
  const left = take('a2', 'a', {}, leaving.signal);
  void take('a3', 'a');
  leaving.abort(new Error('cancelled'));
  await expect(left).rejects.toThrow('cancelled');
  await end('a1');
  expect(begun).toEqual(['a1', 'a3']);
});
