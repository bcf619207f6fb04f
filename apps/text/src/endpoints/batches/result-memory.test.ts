import { expect, test } from 'vitest';
import { withLinesCut } from './provider/collect-results.ts';
import { createResultMemory, holdResult, OrderedResults } from './result-memory.ts';

const NEVER = new AbortController().signal;
const turnOfEventLoop = () => new Promise((resolve) => setImmediate(resolve));

test('results are read as far as they fit into memory together, in the order in which they are written', async () => {
  const results = new OrderedResults(createResultMemory(300), NEVER);
  const turns = [results.turn(), results.turn(), results.turn(), results.turn()];
  const read: number[] = [];
  const holds = [3, 2, 1].map((index) => turns[index]?.hold(50).then(() => void read.push(index)));
  await turnOfEventLoop();
  // The first one has not been looked up yet.
  expect(read).toEqual([]);
  await turns[0]?.hold(50);
  await holds[2];
  await turnOfEventLoop();
  expect(read).toEqual([1]);
  turns[0]?.end();
  await holds[1];
  turns[1]?.end();
  await holds[0];
  expect(read).toEqual([1, 2, 3]);
});

test('a result that is larger than the memory for all is read alone, and one that there is none of holds up nobody', async () => {
  const results = new OrderedResults(createResultMemory(300), NEVER);
  const [none, large, small] = [results.turn(), results.turn(), results.turn()];
  none.end();
  await large.hold(10_000);
  let isRead = false;
  const last = small.hold(1).then(() => {
    isRead = true;
  });
  await turnOfEventLoop();
  expect(isRead).toBe(false);
  large.end();
  await last;
});

test('where results are written no longer, what they hold is free again and nobody waits for it', async () => {
  const memory = createResultMemory(300);
  const results = new OrderedResults(memory, NEVER);
  const [first, second] = [results.turn(), results.turn()];
  await first.hold(100);
  const waiting = second.hold(100);
  waiting.catch(() => undefined);
  results.close();
  await expect(waiting).rejects.toThrow('no longer written');
  using _all = await holdResult(memory, 100, NEVER);
});

test('a large line of a provider’s results is read when there is room for it, and gives that back', async () => {
  const memory = createResultMemory();
  const line = Buffer.concat([Buffer.alloc(2 * 1024 * 1024, 'a'), Buffer.from('\n')]);
  const chunks = async function* () {
    yield Buffer.from('small\n');
    yield line;
    yield line;
  };
  let held = 0;
  const sizes: number[] = [];
  const hold = async () => {
    held += 1;
    return memory.largeLines.take(Number.MAX_SAFE_INTEGER, NEVER);
  };
  for await (const chunk of withLinesCut(chunks(), line.length, hold)) sizes.push(chunk.length);
  expect(held).toBe(2);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(6 + 2 * line.length);
});
