import { expect, test } from 'vitest';
import { eventBytesOf, eventDataOf, joinFrames } from './event-frame.ts';
import { createFrameReader } from './frame-reader.ts';

const read = (text: string) => createFrameReader({ maxFrameBytes: 1000 }).push(Buffer.from(text));

test('neighbours that came together are one part of the bytes that came', () => {
  const frames = read('data: 1\n\ndata: 2\n\nevent: b\ndata: ü\n\n');
  const joined = joinFrames(frames);
  expect(String(joined)).toBe('data: 1\n\ndata: 2\n\nevent: b\ndata: ü\n\n');
  expect(Buffer.isBuffer(joined) && joined.buffer === frames[0]?.bytes.buffer).toBe(true);
});

test('frames of ours keep their places among those that came', () => {
  const [first, second, third] = read('data: 1\n\ndata: 2\n\ndata: 3\n\n');
  if (first === undefined || second === undefined || third === undefined) throw new Error('three frames');
  const ours = ['data: ä\n\n', ': keepalive\n\n'];
  expect(String(joinFrames([first, ...ours, third, second]))).toBe(
    'data: 1\n\ndata: ä\n\n: keepalive\n\ndata: 3\n\ndata: 2\n\n',
  );
  expect(joinFrames(ours)).toBe('data: ä\n\n: keepalive\n\n');
  expect(joinFrames([])).toBe('');
});

test.for([
  ['data: {"a":"data: b"}\n\n', '{"a":"data: b"}'],
  ['event: a\ndata: {"ü":1}\n\n', '{"ü":1}'],
  [': keepalive\n\n', null],
] as const)('%j has the data %j, whether it came or is ours', ([text, data]) => {
  for (const frame of [text, ...read(text)]) {
    expect(eventDataOf(frame)).toBe(data);
    expect(eventBytesOf(frame)?.toString() ?? null).toBe(data);
  }
});
