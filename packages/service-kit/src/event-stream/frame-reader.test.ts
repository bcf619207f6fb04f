import { recordedStream, recordedStreamNames } from '@gateway/simulator/recorded-stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFrameReader, FrameTooLarge } from './frame-reader.ts';

const MAX_FRAME_BYTES = 1 << 20;

interface Read {
  readonly pieces: Buffer[];
  readonly data: (string | null)[];
  readonly rest: Buffer;
}

function read(chunks: readonly Buffer[], maxFrameBytes = MAX_FRAME_BYTES): Read {
  const reader = createFrameReader({ maxFrameBytes });
  const data: (string | null)[] = [];
  const pieces = chunks.flatMap((chunk) => reader.push(chunk, (one) => void data.push(one)) ?? []);
  return { pieces, data, rest: reader.rest() };
}

const bytesOf = (stream: Buffer): Buffer[] =>
  Array.from(stream, (_, index) => stream.subarray(index, index + 1));
const withReturns = (stream: Buffer) => Buffer.from(stream.toString().replaceAll('\n', '\r\n'));

test.for(recordedStreamNames())(
  '%s byte by byte gives the same bytes and the same data as in one piece',
  (name) => {
    const stream = recordedStream(name);
    const whole = read([stream]);
    const single = read(bytesOf(stream));
    expect(Buffer.concat(whole.pieces)).toEqual(stream);
    expect(Buffer.concat(single.pieces)).toEqual(stream);
    expect(single.data).toEqual(whole.data);
    expect(single.pieces).toHaveLength(whole.data.length);
    for (const piece of single.pieces) expect(piece.toString()).toMatch(/\n\n$/);
    expect(read(bytesOf(withReturns(stream))).data).toEqual(whole.data);
  },
);

test('however a stream is cut, no piece ends within a frame and no byte changes', () => {
  const line = fc.constantFrom(
    'event: a',
    'data: {"x":1}',
    'data:b',
    ': comment',
    'data',
    'id: 5',
    'datum: no',
    'data: ü€😀',
  );
  const frame = fc
    .tuple(fc.array(line, { minLength: 1, maxLength: 4 }), fc.constantFrom('\n', '\r\n'))
    .map(([lines, end]) => `${lines.join(end)}${end}${end}`);
  const stream = fc.tuple(
    fc.array(frame, { maxLength: 6 }),
    fc.constantFrom('', 'data: {"unfin', 'event: x\n'),
  );
  fc.assert(
    fc.property(stream, fc.array(fc.nat(400), { maxLength: 12 }), ([frames, tail], cuts) => {
      const all = Buffer.from(frames.join('') + tail);
      const ends = new Set(frames.map((_, index) => Buffer.byteLength(frames.slice(0, index + 1).join(''))));
      const offsets = [0, ...cuts.filter((cut) => cut < all.length).toSorted((a, b) => a - b), all.length];
      const chunks = offsets.slice(1).map((end, index) => all.subarray(offsets[index], end));
      const { pieces, data, rest } = read(chunks);
      let written = 0;
      for (const piece of pieces) {
        written += piece.length;
        expect(ends.has(written)).toBe(true);
      }
      expect(Buffer.concat([...pieces, rest])).toEqual(all);
      expect(rest.toString()).toBe(tail);
      expect(data).toEqual(read([all]).data);
    }),
  );
});

test('several data lines are one text, and a frame without any has none', () => {
  expect(read([Buffer.from('data: a\ndata:b\n\n: comment\n\n')]).data).toEqual(['a\nb', null]);
});

test('a frame beyond the bound is refused, held back or whole', () => {
  expect(() => read(bytesOf(Buffer.from('data: 0123456789')), 10)).toThrow(FrameTooLarge);
});

test('what a listener refuses does not come out, and what came before does', () => {
  const reader = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });
  const refuse = (data: string | null) => {
    if (data === 'bad') throw new Error('refused');
  };
  expect(() => reader.push(Buffer.from('data: good\n\ndata: bad\n\ndata: later\n\n'), refuse)).toThrow(
    'refused',
  );
  expect(reader.accepted?.toString()).toBe('data: good\n\n');
});
