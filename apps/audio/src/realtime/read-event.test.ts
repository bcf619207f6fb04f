import { expect, test } from 'vitest';
import { readEvent } from './read-event.ts';

const read = (json: string) => readEvent(Buffer.from(json));

test('the type of an event is found whatever else is in it, and however long its sound is', () => {
  const audio = 'A'.repeat(10_000_000);
  expect(
    read(`{ "audio": "${audio}", "item": {"type": "no", "list": [[1], "]"]}, "type": "input_audio" }`),
  ).toEqual({
    type: 'input_audio',
    longestBytes: audio.length,
  });
});

const SLOW: readonly [string, string][] = [
  ['members', `{"type":"one"${',"":1'.repeat(2000)}}`],
  ['values in a list', `{"type":"one","list":[${'1,'.repeat(1_000_000)}1]}`],
  ['texts in a list', `{"type":"one","list":[${'"",'.repeat(1_000_000)}""]}`],
  ['spaces', `{"type":"one"${' '.repeat(2_000_000)}}`],
  ['digits', `{"type":"one","number":${'1'.repeat(2_000_000)}}`],
];
test.for(SLOW)('an event of so many %s that others would wait is none', ([, json]) => {
  expect(read(json)).toBeNull();
});
