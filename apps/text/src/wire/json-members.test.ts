import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MemberScanner } from './json-members.ts';

/** What the scanner finds, parsed; null where it is not sure that the text is an object. */
function membersOf(json: string): [unknown, unknown][] | null {
  const bytes = Buffer.from(json);
  const scanner = new MemberScanner(bytes);
  const found: [unknown, unknown][] = [];
  for (let member = scanner.next(); member !== null; member = scanner.next()) {
    const { nameStart, nameEnd, start, end } = member;
    found.push([
      JSON.parse(bytes.toString('utf8', nameStart, nameEnd)),
      JSON.parse(bytes.toString('utf8', start, end)),
    ]);
  }
  return scanner.ended ? found : null;
}

test.for<[string, [unknown, unknown][]]>([
  ['{}', []],
  [' { } \n', []],
  ['{"a":"b"}', [['a', 'b']]],
  [
    '\t{ "a" : [ {"a":1} , "}" ] ,\r\n"b":-1.5e3 }',
    [
      ['a', [{ a: 1 }, '}']],
      ['b', -1500],
    ],
  ],
  [
    '{"a":"\\"b\\":1","a":{"c":"\\\\"},"d":null}',
    [
      ['a', '"b":1'],
      ['a', { c: '\\' }],
      ['d', null],
    ],
  ],
  [
    '{"ä":"𝄞","usage":true}',
    [
      ['ä', '𝄞'],
      ['usage', true],
    ],
  ],
])('in %s exactly its own members are found', ([json, expected]) => {
  expect(membersOf(json)).toEqual(expected);
});

test.for([
  '',
  ' ',
  '[]',
  '"a"',
  'null',
  '{',
  '{"a"',
  '{"a":',
  '{"a":}',
  '{"a":1',
  '{"a":1,',
  '{"a":"1}',
  '{"a":"1\\"}',
  '{"a":[1}',
  '{"a":{"b":1}',
  '{"a" 1}',
  '{a:1}',
  '{"a":1}}',
  '{"a":1} {}',
  '{}x',
  '{"a":1 "b":2}',
  `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`,
])('nothing is taken for an object that is no object, or too deep: %s', (json) => {
  const scanner = new MemberScanner(Buffer.from(json));
  while (scanner.next() !== null);
  expect(scanner.ended).toBe(false);
});

test('the members of any object are those that the parser finds', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ noUnicodeString: false })),
      fc.constantFrom(undefined, 1, '\t'),
      (value, space) => {
        const json = JSON.stringify(value, null, space);
        expect(membersOf(json)).toEqual(Object.entries(JSON.parse(json)));
      },
    ),
    { numRuns: 1000 },
  );
});
