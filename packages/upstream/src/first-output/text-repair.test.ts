import { expect, test } from 'vitest';
import { textRepair } from './text-repair.ts';

const STREAM = 'text/event-stream; charset=utf-8';

/** What a reader gets of a reply that comes in these pieces. */
function readOf(type: string, texts: readonly string[]): string {
  const chunks = texts.map((piece) => Buffer.from(piece, 'latin1'));
  for (let count = 1; count <= chunks.length; count += 1) {
    const start = Buffer.concat(chunks.slice(0, count));
    const repair = textRepair({ 'content-type': type }, start, count === chunks.length);
    if (repair === 'wait') continue;
    const read = (chunk: Buffer) => (repair === null ? chunk : repair(chunk));
    const pieces = [read(start), ...chunks.slice(count).map(read), repair?.(null) ?? Buffer.alloc(0)];
    return Buffer.concat(pieces).toString('latin1');
  }
  throw new Error('waits at the end');
}

const MARK = '\u00ef\u00bb\u00bf';

test.for([
  [STREAM, `${MARK}data: {}\n\n`, 'data: {}\n\n'],
  [STREAM, `${MARK}data: 1\r\rdata: 2\r\r`, 'data: 1\n\ndata: 2\n\n'],
  [STREAM, 'data: 1\r\rdata: 2\r\n\r\n\rdata: 3\r', 'data: 1\n\ndata: 2\n\n\ndata: 3\n'],
  [STREAM, '\rdata: \u00c3\u00bc\r\r', '\ndata: \u00c3\u00bc\n\n'],
  ['application/json', `${MARK}{"a":1}`, '{"a":1}'],
  [STREAM, '{"a":1}\n{"b":2}', 'data: {"a":1}\n\ndata: {"b":2}\n\n'],
  [STREAM, '{"type":"ping"}\r\n\r\n[DONE]\n', 'event: ping\ndata: {"type":"ping"}\n\ndata: [DONE]\n\n'],
  [STREAM, `${MARK}{"a":1}\r{"b":2}`, 'data: {"a":1}\n\ndata: {"b":2}\n\n'],
] as const)('of type %s, %j is read as %j, however it is cut', ([type, text, expected]) => {
  const mark = text.startsWith(MARK) ? MARK.length : 1;
  for (let at = mark; at < text.length; at += 1)
    expect(readOf(type, [text.slice(0, at), text.slice(at)])).toBe(expected);
  expect(readOf(type, [text.slice(0, mark), ...text.slice(mark)])).toBe(expected);
});

test.for([
  [STREAM, 'data: {"a":"\\r"}\n\n'],
  [STREAM, 'data: 1\r\n\r\ndata: 2\r\n\r\n'],
  [STREAM, '\n\rdata: 1\n\n'],
  ['application/json', '{"a":\r1}'],
  ['audio/mpeg', `${MARK}\r\r`],
] as const)('of type %s, %j is read as it is', ([type, text]) => {
  expect(textRepair({ 'content-type': type }, Buffer.from(text, 'latin1'), true)).toBe(null);
});
