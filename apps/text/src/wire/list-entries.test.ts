import { expect, test } from 'vitest';
import { listEntries } from './list-entries.ts';

const BODY = ` {"a": {"requests": [1]}, "b": "\\"requests\\": [", "requests" : [ {"x": "]}\\\\"} , {"y": [{}, "é\\""]}
], "c": [[]] } `;

async function entriesOf(text: string, pieceBytes: number, maxEntryBytes = 1000): Promise<string[]> {
  const bytes = Buffer.from(text);
  const pieces = async function* () {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  };
  const entries: string[] = [];
  for await (const entry of listEntries(pieces(), { name: 'requests', maxEntryBytes }))
    entries.push(entry.toString());
  return entries;
}

test('the entries of a list come whole, however the body is cut', async () => {
  for (let size = 1; size <= BODY.length; size += 1)
    expect(await entriesOf(BODY, size)).toEqual(['{"x": "]}\\\\"}', '{"y": [{}, "é\\""]}']);
});

test('an empty list has none', async () => {
  expect(await entriesOf('{"requests":[]}', 4)).toEqual([]);
});

test.for([
  '',
  '[]',
  '{',
  '{"requests":[{}',
  '{"requests":[{}]',
  '{"requests":[{},]}',
  '{"requests":[,{}]}',
  '{"requests":[{}{}]}',
  '{"requests":[{}]}}',
  '{"requests":[{}]} x',
  '{"requests":[1]}',
  '{"requests":{}}',
  '{"requests":[],"requests":[]}',
  '{"a":1}',
  '"requests"',
])('what is no object with such a list is refused: %s', async (text) => {
  await expect(entriesOf(text, 3)).rejects.toThrow();
});

test('an entry is bounded', async () => {
  await expect(entriesOf(`{"requests":[{"a":"${'x'.repeat(100)}"}]}`, 10, 50)).rejects.toMatchObject({
    code: 'request_too_large',
  });
});
