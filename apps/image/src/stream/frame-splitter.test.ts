import { expect, test } from 'vitest';
import { createFrameSplitter } from './frame-splitter.ts';

const STREAMS = {
  'line feeds': ['event: a\ndata: 1\n\n', 'data: 2\n\n', ': ping\n\n'],
  'carriage returns and line feeds': ['event: a\r\ndata: 1\r\n\r\n', 'data: 2\r\n\r\n'],
};

test.each(Object.entries(STREAMS))('%s: the same frames, whole or byte by byte', (_name, frames) => {
  const bytes = Buffer.from(frames.join(''));
  expect(createFrameSplitter(1000).push(bytes).map(String)).toEqual(frames);
  const slow = createFrameSplitter(1000);
  expect([...bytes].flatMap((byte) => slow.push(Buffer.of(byte))).map(String)).toEqual(frames);
});

test('what is not whole is kept back', () => {
  const splitter = createFrameSplitter(1000);
  expect(splitter.push(Buffer.from('data: 1\n\ndata: 2\n')).map(String)).toEqual(['data: 1\n\n']);
  expect(splitter.push(Buffer.from('\n')).map(String)).toEqual(['data: 2\n\n']);
});

test('a frame without end is not collected for ever', () => {
  const splitter = createFrameSplitter(10);
  splitter.push(Buffer.from('data: 1'));
  expect(() => splitter.push(Buffer.from('2345'))).toThrow('too large');
});
