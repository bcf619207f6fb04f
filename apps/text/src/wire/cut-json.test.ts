import { expect, test } from 'vitest';
import { objectOfCut } from './cut-json.ts';

const WHOLE = {
  id: 'a "b" \\ \u00e9\n',
  list: [1, { deep: ['x', -2.5e3] }, 'y, {z'],
  none: {},
  usage: { input_tokens: 12, output_tokens: 3 },
  last: true,
};

test('of JSON that is cut anywhere everything is read that has come whole, and its last text as far as it has come', () => {
  const json = Buffer.from(JSON.stringify(WHOLE).replace('\\n', '\\u000a'));
  for (let length = 1; length < json.length; length += 1) {
    const read = objectOfCut(json.subarray(0, length));
    if (read === null) throw new Error(`nothing is read of ${json.subarray(0, length)}`);
    for (const [name, value] of Object.entries(read))
      if (name === 'id') expect(WHOLE.id.startsWith(String(value).replace(/\ufffd$/, ''))).toBe(true);
      else if (name !== 'list' && name !== 'usage') expect(value).toEqual(Reflect.get(WHOLE, name));
  }
  expect(objectOfCut(json.subarray(0, -1))).toEqual({ ...WHOLE, last: undefined });
  expect(objectOfCut(json)).toEqual(WHOLE);
});

test.for([
  ['{"a":"x\\', { a: 'x' }],
  ['{"a":"x\\\\', { a: 'x\\' }],
  ['{"a":"x\\\\u12', { a: 'x\\u12' }],
  ['{"a":"x\\u12', { a: 'x' }],
  ['{"a":12', {}],
  ['{"a":12,"b', { a: 12 }],
  ['{"a":["one","tw', { a: ['one', 'tw'] }],
] as const)('%s', ([json, read]) => {
  expect(objectOfCut(Buffer.from(json))).toEqual(read);
});

test.for(['', 'no', '[1', '"text', '{]', '['.repeat(2000)])('what is no object is null: %s', (json) => {
  expect(objectOfCut(Buffer.from(json))).toBeNull();
});
