import { expect, test } from 'vitest';
import { FrameSplitter } from './frame-splitter.ts';

const STREAMS = {
  LF: 'data: {"a":1}\n\nevent: x\ndata: é\n\n',
  CRLF: 'data: {"a":1}\r\n\r\nevent: x\r\ndata: é\r\n\r\n',
  CR: 'data: {"a":1}\r\revent: x\rdata: é\r\r',
};

test.for(Object.entries(STREAMS))('%s line ends: whole frames only, whatever the cuts', ([, text]) => {
  const whole = Buffer.from(text);
  for (let size = 1; size <= whole.length; size += 1) {
    const splitter = new FrameSplitter();
    const blocks: string[] = [];
    for (let at = 0; at < whole.length; at += size) {
      const block = splitter.push(whole.subarray(at, at + size));
      if (block) blocks.push(block.toString());
    }
    expect(blocks.join('')).toBe(text);
    expect(splitter.rest.length).toBe(0);
    for (const block of blocks) expect(block).toMatch(/(\n\n|\r\r|\r\n\r\n)$/);
  }
});

test('half a frame stays behind', () => {
  const splitter = new FrameSplitter();
  expect(splitter.push(Buffer.from('data: 1\n\ndata: 2'))?.toString()).toBe('data: 1\n\n');
  expect(splitter.rest.toString()).toBe('data: 2');
});

test('a frame that never ends is not held for ever', () => {
  const splitter = new FrameSplitter();
  const megabyte = Buffer.alloc(1024 * 1024, 'x');
  expect(() => {
    for (let count = 0; count < 10; count += 1) splitter.push(megabyte);
  }).toThrow(/too large/);
});
