import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { eventMessage, eventOf, exceptionOf } from '@gateway/simulator/bedrock/event-message';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Protocol } from '../protocol.ts';
import { awsEventsToText } from './aws-events.ts';

const Named = z.object({ name: z.string(), base64: z.base64() });
const Fixture = z.object({
  frames: z.array(Named.extend({ headers: z.record(z.string(), z.string()), payload: z.string() })),
  broken: z.array(Named),
});
/** Messages that AWS' own package encoded, and some of them broken. */
const { frames, broken } = Fixture.parse(
  JSON.parse(readFileSync(new URL('fixtures/messages.json', import.meta.url), 'utf8')),
);

function read(pieces: Iterable<Buffer>, protocol: Protocol = 'chat'): string {
  const repair = awsEventsToText(protocol);
  let text = '';
  for (const piece of pieces) text += repair(piece).toString();
  return text + repair(null).toString();
}

const byteByByte = (bytes: Buffer): Buffer[] => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
const errorFrame = (error: object) => `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`;
const isBroken = (why: string) =>
  errorFrame({ code: '502', type: 'BrokenEventStream', message: `The event stream is broken: ${why}.` });

const [start, delta] = [
  eventOf('messageStart', { p: 'ab', role: 'assistant' }),
  eventOf('contentBlockDelta', { delta: { text: 'ü€😀' } }),
];
const STARTED = 'event: messageStart\ndata: {"messageStart":{"p":"ab","role":"assistant"}}\n\n';

test.for(frames)(
  'the bytes of AWS and of the simulator are the same: $name',
  ({ headers, payload, base64 }) => {
    expect(eventMessage(headers, payload).toString('base64')).toBe(base64);
  },
);

test.for(frames)('$name reads the same however it is cut', ({ base64 }) => {
  const bytes = Buffer.concat([start, Buffer.from(base64, 'base64')]);
  const whole = read([bytes]);
  expect(whole.startsWith(STARTED)).toBe(true);
  expect(whole.length).toBeGreaterThan(STARTED.length);
  expect(read(byteByByte(bytes))).toBe(whole);
});

test('an event of Converse is an event of its name, and its text is not rewritten', () => {
  const exact = eventMessage(
    { ':event-type': 'contentBlockDelta', ':message-type': 'event' },
    '{ "contentBlockIndex": 0,\r\n "delta": {"text": "ü 1.0 \\n"}, "n": 12345678901234567890 }',
  );
  expect(read([exact])).toBe(
    'event: contentBlockDelta\ndata: {"contentBlockDelta":{ "contentBlockIndex": 0,  "delta": {"text": "ü 1.0 \\n"}, "n": 12345678901234567890 }}\n\n',
  );
});

test("a chunk of InvokeModel is the maker's event, without what AWS adds to the last one", () => {
  const chunk = (event: object) =>
    eventOf('chunk', { bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abc' });
  const stop = { type: 'message_stop', 'amazon-bedrock-invocationMetrics': { inputTokenCount: 12 } };
  expect(read([chunk({ type: 'ping' }), chunk(stop), chunk({ completion: 'x' })], 'messages')).toBe(
    'event: ping\ndata: {"type":"ping"}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\ndata: {"completion":"x"}\n\n',
  );
});

test.for([
  [
    'throttlingException',
    { message: 'Too many tokens' },
    'rate_limit_error',
    { code: 'ThrottlingException', type: 'ThrottlingException', message: 'Too many tokens' },
  ],
  [
    'serviceUnavailableException',
    { message: 'x' },
    'overloaded_error',
    { code: 'ServiceUnavailableException', type: 'ServiceUnavailableException', message: 'x' },
  ],
  [
    'validationException',
    { message: 'x' },
    'invalid_request_error',
    { code: 'ValidationException', type: 'ValidationException', message: 'x' },
  ],
  [
    'internalServerException',
    {},
    'api_error',
    { code: 'InternalServerException', type: 'InternalServerException', message: '' },
  ],
  [
    'modelStreamErrorException',
    { message: 'broke', originalStatusCode: 503, originalMessage: 'reset' },
    'overloaded_error',
    { code: '503', type: 'ModelStreamErrorException', message: 'reset' },
  ],
] as const)(
  '%s is the error event of either dialect, and nothing is read after it',
  ([name, payload, type, error]) => {
    const bytes = [start, Buffer.concat([exceptionOf(name, payload), delta]), delta];
    expect(read(bytes)).toBe(STARTED + errorFrame(error));
    expect(read(bytes, 'messages')).toBe(STARTED + errorFrame({ type, message: error.message }));
  },
);

test('an error that no service describes is one', () => {
  const message = eventMessage(
    { ':message-type': 'error', ':error-code': 'InternalError', ':error-message': 'An error' },
    '',
  );
  expect(read([message])).toBe(
    errorFrame({ code: 'InternalError', type: 'InternalError', message: 'An error' }),
  );
});

test.for(broken)('what came before is given, and then an error: $name', ({ base64 }) => {
  const bytes = Buffer.concat([start, Buffer.from(base64, 'base64')]);
  for (const pieces of [[bytes], byteByByte(bytes), [bytes, delta]]) {
    expect(read(pieces)).toMatch(
      /^event: messageStart\n.*\n\nevent: error\ndata: .*The event stream is broken: [a-z].*\n\n$/,
    );
  }
});

/** A message with these lengths and the right checksum of them. */
const withLengths = (total: number, headers: number): Buffer => {
  const forged = eventMessage({}, '');
  forged.writeUInt32BE(total, 0);
  forged.writeUInt32BE(headers, 4);
  forged.writeUInt32BE(crc32(forged.subarray(0, 8)), 8);
  return forged;
};

test.for([
  [15, 0, 'a message has lengths that cannot be'],
  [40, 25, 'a message has lengths that cannot be'],
  [17 * 1024 * 1024, 0, 'a message of more than 16777216 bytes'],
] as const)(
  'a total of %i bytes with %i of headers is refused before it has come',
  ([total, headers, why]) => {
    expect(read([withLengths(total, headers)])).toBe(isBroken(why));
  },
);

test.for([
  ['no name', eventMessage({ ':message-type': 'event' }, '{}'), 'an event has no name'],
  [
    'no object',
    eventMessage({ ':message-type': 'event', ':event-type': 'messageStart' }, '[1]'),
    'an event is no object',
  ],
  ['no bytes', eventOf('chunk', { p: 'x' }), 'a chunk has no bytes'],
  ['no event', eventOf('chunk', { bytes: 'eA==' }), 'a chunk is no object'],
] as const)('an event with %s is an error', ([, message, why]) => {
  expect(read([message])).toBe(isBroken(why));
});

test('a message of a type that is not known says nothing', () => {
  expect(read([eventMessage({ ':message-type': 'weather' }, '{}'), start])).toBe(STARTED);
});
