import { expect, test } from 'vitest';
import { SentIds } from './sent-ids.ts';

const ids = (count: number) => Array.from({ length: count }, (_, at) => `call_${at}`);
const requestWith = (calls: readonly string[], padding = 0): string =>
  JSON.stringify({
    input: [
      { role: 'user', content: 'a'.repeat(padding) },
      ...calls.map((call_id) => ({ type: 'function_call', call_id })),
      { type: 'function_call_output', call_id: 'answered', output: '"call_id":"said"' },
    ],
    messages: [
      { role: 'tool', tool_call_id: 'chat' },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'messages' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'used' }] },
    ],
  });

test('what many looks find is what a few find', () => {
  const sent = new SentIds(requestWith(ids(500)));
  for (const id of ids(1000)) expect(sent.has(id)).toBe(Number(id.slice(5)) < 500);
  for (const id of ['answered', 'chat', 'messages', 'used']) expect(sent.has(id)).toBe(true);
  expect(sent.has('said')).toBe(false);
});

test('an id that is no text of Unicode is not in any request', () => {
  const sent = new SentIds(Buffer.from(requestWith(ids(3))));
  for (const id of ['\ud800', '\udc00call_1', 'call_1\ud83d']) expect(sent.has(id)).toBe(false);
  expect(sent.has('call_1')).toBe(true);
});

test.for([
  ['small', 0, 1000, false],
  ['large', 600_000, 4, false],
  ['large', 600_000, 5, true],
] as const)(
  'of a %s request with %i characters more, %i ids wait for the thread: %s',
  async ([, padding, count, waits]) => {
    let collected = 0;
    const sent = new SentIds(requestWith(ids(3), padding), async () => {
      collected += 1;
      return new Set(['call_1']);
    });
    const due = sent.due(ids(count));
    expect(due !== null).toBe(waits);
    // What comes later does not overtake it.
    expect(sent.due(['call_1']) !== null).toBe(waits);
    await due;
    expect(sent.due(ids(count))).toBeNull();
    expect([sent.has('call_1'), sent.has('call_9'), collected]).toEqual([true, false, waits ? 1 : 0]);
  },
);

test('where the ids of a large request cannot be collected, it may have any', async () => {
  const sent = new SentIds(requestWith([], 600_000), () => Promise.reject(new Error('too large')));
  await sent.due(ids(5));
  expect(sent.has('call_0')).toBe(true);
});
