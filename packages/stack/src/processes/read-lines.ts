import type { Readable } from 'node:stream';

/** Yields the whole lines of a text as they arrive, all of a chunk at once; a last line without its end comes last. */
export function readLines(stream: Readable | null, onLines: (lines: readonly string[]) => void): void {
  if (stream === null) return;
  let begun = '';
  stream.setEncoding('utf8');
  stream.on('data', (piece: string) => {
    const lines = (begun + piece).split('\n');
    begun = lines.pop() ?? '';
    if (lines.length > 0) onLines(lines);
  });
  stream.once('end', () => {
    if (begun !== '') onLines([begun]);
  });
}
