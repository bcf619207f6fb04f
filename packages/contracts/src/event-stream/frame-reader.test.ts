import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFrameReader, FrameTooLarge } from './frame-reader.ts';

/** Streams as providers sent them. The simulator's package cannot be imported here, since it imports this one. */
const RECORDED = new URL('../../../simulator/fixtures/streams/', import.meta.url);

const MAX_FRAME_BYTES = 1 << 20;

interface Read {
  readonly pieces: Buffer[];
  readonly data: (string | null)[];
  readonly rest: Buffer;
}

function read(chunks: readonly Buffer[], maxFrameBytes = MAX_FRAME_BYTES): Read {
  const reader = createFrameReader({ maxFrameBytes });
  const data: (string | null)[] = [];
  const pieces: Buffer[] = [];
  for (const chunk of chunks) {
    for (const frame of reader.push(chunk)) {
      pieces.push(frame.bytes.subarray(frame.start, frame.end));
      data.push(frame.data);
    }
  }
  const last = reader.end();
  return { pieces, data, rest: last?.bytes.subarray(last.start, last.end) ?? Buffer.alloc(0) };
}

const bytesOf = (stream: Buffer): Buffer[] =>
  Array.from(stream, (_, index) => stream.subarray(index, index + 1));
const withReturns = (stream: Buffer) => Buffer.from(stream.toString().replaceAll('\n', '\r\n'));

test.for(readdirSync(RECORDED))(
  '%s byte by byte gives the same bytes and the same data as in one piece',
  (name) => {
    const stream = readFileSync(new URL(name, RECORDED));
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
      expect(Buffer.concat(pieces).toString() + tail).toBe(all.toString());
      expect(rest.toString()).toBe(tail === '' ? '' : `${tail}\n\n`.replace('\n\n\n', '\n\n'));
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

test('the frames before one beyond the bound come out first', () => {
  const reader = createFrameReader({ maxFrameBytes: 20 });
  const [good, ...others] = reader.push(Buffer.from('data: good\n\ndata: 0123456789 0123456789\n\n'));
  expect([good?.data, others]).toEqual(['good', []]);
  expect(() => reader.push(Buffer.from('data: later\n\n'))).toThrow(FrameTooLarge);
  expect(() => reader.end()).toThrow(FrameTooLarge);
});

test('blanks before data are no part of it, and data with nothing in it is none', () => {
  const stream = 'data:   {"a":1}\n\ndata:\n\nevent: x\r\ndata:  \r\n\r\ndata:\ndata: \n\n';
  const reader = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });
  const frames = reader.push(Buffer.from(stream));
  expect(frames.map(({ data }) => data)).toEqual(['{"a":1}', null, null, '\n']);
  expect(frames.map(({ dataBytes }) => dataBytes?.toString() ?? null)).toEqual(['{"a":1}', null, null, '\n']);
});

test('a last frame gets the end that it lacks', () => {
  for (const missing of ['data: {}', 'data: {}\n', 'event: x\ndata: {}']) {
    const reader = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });
    reader.push(Buffer.from(missing));
    const last = reader.end();
    expect(last?.bytes.toString('utf8', last.start, last.end)).toMatch(/data: \{\}\n\n$/);
  }
});

test('a last frame without its empty line has its data', () => {
  const reader = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });
  expect(reader.push(Buffer.from('data: {"x":'))).toEqual([]);
  expect(reader.push(Buffer.from('1}\ndata: ü'))).toEqual([]);
  expect(reader.end()?.data).toBe('{"x":1}\nü');
  expect(reader.end()).toBe(null);
});

test('a search in a frame sees its own bytes only', () => {
  const reader = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });
  const frames = reader.push(Buffer.from('data: "one"\n\ndata: "two"\n\n'));
  expect(frames.map((frame) => [frame.includes('"one"'), frame.includes('"two"')])).toEqual([
    [true, false],
    [false, true],
  ]);
});
