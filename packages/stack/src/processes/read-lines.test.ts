import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { expect, test } from 'vitest';
import { readLines } from './read-lines.ts';

async function linesOf(pieces: readonly (string | Buffer)[]): Promise<string[]> {
  const stream = new PassThrough();
  const lines: string[] = [];
  readLines(stream, (some) => lines.push(...some));
  for (const piece of pieces) stream.write(piece);
  stream.end();
  await finished(stream);
  return lines;
}

test('lines are whole wherever the pieces end', async () => {
  expect(await linesOf(['{"a"', ':1}\n{"b":2}\n\n', '{"c":3}\n'])).toEqual([
    '{"a":1}',
    '{"b":2}',
    '',
    '{"c":3}',
  ]);
});

test('a character that two pieces share stays whole', async () => {
  const bytes = Buffer.from('größe\n');
  expect(await linesOf([bytes.subarray(0, 3), bytes.subarray(3)])).toEqual(['größe']);
});

test('what a process wrote last without a line end is a line', async () => {
  expect(await linesOf(['one\nha', 'lf'])).toEqual(['one', 'half']);
});
