import { expect, test } from 'vitest';
import { outlineOf } from './json-depth.ts';
import { countMembers, findRepeatedMember } from './repeated-member.ts';

const outline = (text: string) =>
  outlineOf(Buffer.from(text), 128).memberCount - countMembers(JSON.parse(text));

test.for<[string, (string | number)[]]>([
  ['{"a":1,"a":1}', ['a']],
  ['{"a":1,"b":{"a":2},"a":{"b":1}}', ['a']],
  [String.raw`{"model":1,"mod\u0065l":2}`, ['model']],
  ['{"x":[{"id":"a"},{"id":"b"},{"id":"c","id":"d"}]}', ['x', 2, 'id']],
  ['[[1,2],{"a":{"b":null,"c":[],"b":{}}}]', [1, 'a', 'b']],
  ['{"__proto__":1,"__proto__":2}', ['__proto__']],
  ['{"":1,"":2}', ['']],
  [String.raw`{"a\"b":"x:\\","a\"b":2}`, ['a"b']],
  ['{"🐳":1,"🐳":2}', ['🐳']],
])('%s: the repeated member is found', ([text, path]) => {
  expect(outline(text)).toBe(1);
  expect(findRepeatedMember(Buffer.from(text))).toEqual(path);
});

test.for([
  '{}',
  '[]',
  '"a:b"',
  '1',
  'null',
  '{"a":{"a":{"a":[{"a":1},{"a":2}]}}}',
  '{"a":"a","b":"a:,{","c":["a","a"],"d":"\\"a\\":"}',
  '{ "a" : [ ] ,\n"b":{ },"__proto__":{"constructor":1},"1":0,"0":[null]}',
])('%s: nothing is repeated', (text) => {
  expect(outline(text)).toBe(0);
  expect(findRepeatedMember(Buffer.from(text))).toBeNull();
});
