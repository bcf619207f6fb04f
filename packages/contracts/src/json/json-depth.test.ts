import { expect, test } from 'vitest';
import { endOfString, isDeeperThan, outlineOf, parseJson } from './json-depth.ts';

const MAX_DEPTH = 4;
const lists = (depth: number, inner = '') => '['.repeat(depth) + inner + ']'.repeat(depth);
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

test.for<[string, string, string]>([
  ['lists', lists(MAX_DEPTH), lists(MAX_DEPTH + 1)],
  ['objects', objects(MAX_DEPTH), objects(MAX_DEPTH + 1)],
  ['lists beside one another', `[${Array(9).fill(lists(MAX_DEPTH - 1))}]`, `[[],[],${lists(MAX_DEPTH)}]`],
  ['brackets in strings', lists(4, '"[[[[{{{{"'), lists(5, '"]]]]}}}}"')],
  ['an escaped quote', lists(4, String.raw`"\"[[[["`), lists(5, String.raw`"\"]]]]"`)],
  ['a string that ends in a backslash', lists(4, String.raw`"[[\\","[["`), lists(4, String.raw`"\\",[]`)],
  ['three backslashes and a quote', lists(4, String.raw`"\\\"[[[["`), lists(5, String.raw`"\\\"]]]"`)],
  ['characters beyond ASCII', lists(4, '"ä𝄞[["'), lists(5, '"ä𝄞]]"')],
])('%s count correctly', ([, shallow, deep]) => {
  expect([JSON.parse(shallow), JSON.parse(deep)]).toHaveLength(2);
  expect([isDeeperThan(shallow, MAX_DEPTH), isDeeperThan(deep, MAX_DEPTH)]).toEqual([false, true]);
});

test('a string ends where the parser ends it, however long it is and whatever is escaped in it', () => {
  const ends = [
    '',
    '"',
    '\\',
    '\\"',
    '"\\',
    '\\\\',
    '\\"[',
    '"'.repeat(60),
    '\\'.repeat(60),
    '\\"'.repeat(60),
  ];
  for (const end of ends) {
    for (let length = 0; length < 120; length += 1) {
      const value = 'x'.repeat(length) + end;
      const text = JSON.stringify({ a: value, b: [[[value, '[']]] });
      expect(isDeeperThan(text, MAX_DEPTH)).toBe(false);
      expect(outlineOf(Buffer.from(text), MAX_DEPTH).memberCount).toBe(2);
      expect(endOfString(Buffer.from(JSON.stringify(value)), 0)).toBe(JSON.stringify(value).length - 1);
    }
  }
});

test.for(['"'.repeat(9), '\\'.repeat(9), '"[[\\', ']'.repeat(20), '"'.padEnd(20, '\\"')])(
  'the scan also ends for text that is not JSON: %s',
  (text) => {
    expect(isDeeperThan(text, MAX_DEPTH)).toBe(false);
  },
);

test('JSON that would overflow a stack is refused like text that is not JSON', () => {
  expect(parseJson(lists(1000))).toBeInstanceOf(Array);
  expect(() => parseJson(lists(1001))).toThrow(SyntaxError);
  expect(() => parseJson(lists(100_000))).toThrow(SyntaxError);
});
