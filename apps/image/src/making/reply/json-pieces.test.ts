import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type JsonPath, jsonPieces, type Lifts } from './json-pieces.ts';

const lifts: Lifts = (path) => path[0] === 'data' && path.at(-1) === 'b64_json';

/** What is left of the JSON, and the strings that were lifted out of it. */
async function taken(text: string | Buffer, chunkBytes: number) {
  const bytes = Buffer.from(text);
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  const left: Buffer[] = [];
  const lifted: { path: JsonPath; parts: Buffer[] }[] = [];
  for await (const piece of jsonPieces(chunks(), lifts)) {
    if (piece.kind === 'json') left.push(piece.bytes);
    else if (piece.kind === 'string-begin') lifted.push({ path: piece.path, parts: [] });
    else if (piece.kind === 'string-part') lifted.at(-1)?.parts.push(piece.bytes);
  }
  return {
    left: String(Buffer.concat(left)),
    lifted: lifted.map(({ path, parts }) => ({ path, text: String(Buffer.concat(parts)) })),
  };
}

const REPLY = `{"created":1, "data" : [ {"b64_json":"QUJD","revised_prompt":"a \\"b64_json\\":\\"x\\" é"},
  {"revised_prompt":"x","b64_json":"a\\/b\\u002bc\\nd\\\\","n":[1,{"b64_json":null}]},{"b64_json":""}],
  "b64_json":"stays","usage":{"data":[{"b64_json":"stays too"}]}}`;

test.for([1, 2, 3, 7, 64, 100_000])(
  'strings are lifted out of JSON that comes in chunks of %s bytes',
  async (size) => {
    const { left, lifted } = await taken(REPLY, size);
    expect(lifted).toEqual([
      { path: ['data', 0, 'b64_json'], text: 'QUJD' },
      { path: ['data', 1, 'b64_json'], text: 'a/b+c\nd\\' },
      { path: ['data', 2, 'b64_json'], text: '' },
    ]);
    expect(JSON.parse(left)).toEqual({
      created: 1,
      data: [
        { b64_json: '', revised_prompt: 'a "b64_json":"x" é' },
        { revised_prompt: 'x', b64_json: '', n: [1, { b64_json: null }] },
        { b64_json: '' },
      ],
      b64_json: 'stays',
      usage: { data: [{ b64_json: 'stays too' }] },
    });
  },
);

test('whatever the JSON is, what is left and what is lifted make it up', async () => {
  const entry = fc.dictionary(
    fc.constantFrom('b64_json', 'url', 'a"', 'ü\\'),
    fc.oneof(fc.string(), fc.jsonValue()),
  );
  const reply = fc.record({ before: fc.jsonValue(), data: fc.array(entry), after: fc.jsonValue() });
  await fc.assert(
    fc.asyncProperty(reply, fc.integer({ min: 1, max: 20 }), async (value, size) => {
      const { left, lifted } = await taken(JSON.stringify(value), size);
      const found = value.data.flatMap(({ b64_json: text }, index) =>
        typeof text === 'string' ? [{ path: ['data', index, 'b64_json'], text }] : [],
      );
      const direct = lifted.filter(({ path }) => path.length === 3);
      expect(direct.map(({ path }) => path)).toEqual(found.map(({ path }) => path));
      // Half a surrogate pair cannot be written in UTF-8.
      expect(direct.map(({ text }) => text)).toEqual(found.map(({ text }) => text.toWellFormed()));
      expect(Object.keys(JSON.parse(left))).toEqual(['before', 'data', 'after']);
    }),
  );
});

test('text that is no JSON stays as it is, and JSON that is nested too deeply is refused', async () => {
  for (const text of ['<html>"x"</html>', '}}]]{"', '"data', ''])
    expect((await taken(text, 3)).left).toBe(text);
  await expect(taken('['.repeat(2000), 100)).rejects.toThrow('nested too deeply');
});
