import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exchangeMembers, replaceModel, setMember } from './replace-member.ts';

const replaced = (json: string, model: string) => replaceModel(Buffer.from(json), model).toString();

test.for([
  ['{"model":"a"}', '{"model":"B\\"é"}'],
  [' {\r\n\t"model" : "a" , "x":1}\n', ' {\r\n\t"model" : "B\\"é" , "x":1}\n'],
  [
    '{"x":{"model":"a"},"model":"a","y":[{"model":"a"}]}',
    '{"x":{"model":"a"},"model":"B\\"é","y":[{"model":"a"}]}',
  ],
  ['{"model":"a","x":1,"model":"b"}', '{"model":"B\\"é","x":1,"model":"B\\"é"}'],
  ['{"mod\\u0065l":"a","x":"\\"model\\":\\"a\\""}', '{"mod\\u0065l":"B\\"é","x":"\\"model\\":\\"a\\""}'],
  ['{"model":"a","mod\\u0065l":"b"}', '{"model":"B\\"é","mod\\u0065l":"B\\"é"}'],
  ['{"a\\\\":"\\\\","model":"a\\\\\\"","z":"}"}', '{"a\\\\":"\\\\","model":"B\\"é","z":"}"}'],
  [
    '{"n":-1.5e3,"t":true,"u":null,"e":{},"l":[],"model":"a"}',
    '{"n":-1.5e3,"t":true,"u":null,"e":{},"l":[],"model":"B\\"é"}',
  ],
  ['{"models":"a","model ":"a"}', '{"models":"a","model ":"a"}'],
  ['{}', '{}'],
])('in %s only the value of its own member model changes', ([json, expected]) => {
  expect(replaced(json ?? '', 'B"é')).toBe(expected);
});

/** JSON text of a value with whitespace and escapes at any position where JSON allows them. */
const text = (value: unknown, space: string): string =>
  JSON.stringify(value, null, space).replaceAll('/', '\\/');

test('whatever else an object holds, the result parses to the same object with the other model', () => {
  const member = fc.oneof(fc.constant('model'), fc.string({ unit: 'grapheme' }));
  fc.assert(
    fc.property(
      fc.array(fc.tuple(member, fc.jsonValue({ noUnicodeString: false })), { maxLength: 8 }),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('', ' ', '\t', '\n'),
      (members, model, space) => {
        const joined = members.map(([name, value]) => `${text(name, '')}${space}:${text(value, space)}`);
        const json = `${space}{${space}${joined.join(`${space},${space}`)}${space}}`;
        const before: unknown = JSON.parse(json);
        const expected = Object.fromEntries(
          Object.entries(Object(before)).map(([name, value]) => [name, name === 'model' ? model : value]),
        );
        expect(JSON.parse(replaced(json, model))).toEqual(expected);
      },
    ),
    { numRuns: 2000 },
  );
});

test.for([
  ['{"a":1}', '{"a":1,"stream_options":{"include_usage":true}}'],
  [' {"a":"}"} \n', ' {"a":"}","stream_options":{"include_usage":true}} \n'],
  ['{ }', '{ "stream_options":{"include_usage":true}}'],
  ['{"stream_options":null,"a":1}', '{"stream_options":{"include_usage":true},"a":1}'],
  [
    '{"a":{"stream_options":1},"stream_options" : { "include_usage" : false }}',
    '{"a":{"stream_options":1},"stream_options" : {"include_usage":true}}',
  ],
  ['{"stream\\u005foptions":1}', '{"stream\\u005foptions":{"include_usage":true}}'],
])('%s gets a member, or another value for it, and changes in nothing else', ([json = '', expected]) => {
  expect(setMember(Buffer.from(json), 'stream_options', { include_usage: true }).toString()).toBe(expected);
});

test.for([
  ['{"type":"t","model":"m"}', '{"model":"m","stream":true}'],
  ['{"model":"m" , "type":"t"}', '{"model":"m","stream":true}'],
  [' { "a" : [1, {"type":"x"}], "type":"t", "n":1.50 }', '{"a" : [1, {"type":"x"}],"n":1.50,"stream":true}'],
  ['{"stream":false,"t\\u0079pe":"t","x":"\\u00e9"}', '{"x":"\\u00e9","stream":true}'],
  ['{"type":"t"}', '{"stream":true}'],
  ['{}', '{"stream":true}'],
])('of %s the named members are exchanged, and the others keep their bytes', ([json, expected]) => {
  const exchanged = exchangeMembers(Buffer.from(json ?? ''), ['type', 'stream'], { stream: true });
  expect(exchanged.toString()).toBe(expected);
});
