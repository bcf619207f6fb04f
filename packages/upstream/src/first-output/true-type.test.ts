import { expect, test } from 'vitest';
import { trulyTyped } from './true-type.ts';

const typeOf = (type: string | undefined, text: string, ended = false, streamed = false) => {
  const headers = type === undefined ? {} : { 'content-type': type };
  const typed = trulyTyped(headers, Buffer.from(text, 'latin1'), ended, streamed);
  return typed === null ? null : typed['content-type'];
};

const EVENTS = 'text/event-stream; charset=utf-8';
const STREAMS = [
  'data: {"a":1}\n\n',
  'data:{"a":1}\n\n',
  'event: message_start\ndata: {}\n\n',
  ': OPENROUTER PROCESSING\n\n',
  'data: [DONE]\n\n',
  '\r\n\r\ndata: {}\n\n',
  '\u00ef\u00bb\u00bfdata: {}\n\n',
  ': hi\rdata: {}\r\r',
  'event: message_start\rdata: {}\r\r',
];

test.for([undefined, 'application/json', 'text/plain; charset=utf-8', 'application/octet-stream'])(
  'events under %s are events, however they are cut',
  (type) => {
    for (const stream of STREAMS) {
      expect(typeOf(type, stream)).toBe(EVENTS);
      for (let length = 1; length < stream.length; length += 1)
        expect([null, EVENTS]).toContain(typeOf(type, stream.slice(0, length)));
    }
  },
);

test.for([
  ['text/event-stream; charset=utf-8', 'data: {}', 'text/event-stream; charset=utf-8'],
  ['Text/Event-Stream', 'data: {}', 'text/event-stream'],
  ['text/event-stream;charset=UTF-8', 'data: {}', 'text/event-stream;charset=utf-8'],
  ['text/event-stream', '{"error":{}}', 'application/json'],
  ['text/event-stream', ' \n{"id":1}', 'application/json'],
  ['text/event-stream', '<html>', 'text/html'],
  ['application/json', '{"data":1}', 'application/json'],
  ['application/json', 'garbage', 'application/json'],
  ['text/html; charset=utf-8', '{"id":1}', 'application/json'],
  ['text/html', '<html>', 'text/html'],
  ['text/plain', 'data protection matters.', 'text/plain'],
  ['text/plain', 'event: the wedding', 'text/plain'],
  ['text/plain', 'Hello.', 'text/plain'],
  ['audio/mpeg', 'data: {}', 'audio/mpeg'],
  ['application/octet-stream', '\u00ff\u00f3\u0000', 'application/octet-stream'],
  [undefined, 'RIFF', undefined],
] as const)('a reply of type %s that begins with %j is %s', ([type, text, expected]) => {
  expect(typeOf(type, text, true)).toBe(expected);
});

test('nothing but blank space decides nothing before the end', () => {
  expect(typeOf('text/event-stream', '\u00ef\u00bb')).toBe(null);
  expect(typeOf('application/json', ' \n')).toBe(null);
  expect(typeOf('text/event-stream', '\n\n')).toBe(null);
  expect(typeOf('application/json', ' \n', true)).toBe('application/json');
});

const LINES = '{"id":"a","choices":[]}\n{"id":"a"}\n';
test.for([
  ['application/x-ndjson', false],
  ['application/jsonl', false],
  ['application/stream+json', false],
  ['text/event-stream', false],
  ['application/json', true],
  ['text/plain', true],
  [undefined, true],
] as const)(
  'lines of JSON under %s (a stream was requested: %s) are events, however they are cut',
  ([type, streamed]) => {
    const second = LINES.indexOf('\n') + 1;
    for (let length = 1; length <= LINES.length; length += 1)
      expect(typeOf(type, LINES.slice(0, length), false, streamed)).toBe(length > second ? EVENTS : null);
  },
);

test.for([
  '{"id":"a","object":"chat.completion.chunk","choices":[]}',
  '{"choices":[{"delta":{"content":"Hi"}}]}',
  '{"type":"response.created","response":{}}',
  '{"type":"message_start","message":{}}',
  '{"type":"speech.audio.delta","audio":""}',
])('a stream of lines that nobody requested is known by its first object: %s', (first) => {
  for (const type of ['application/json', 'text/plain', undefined])
    for (let length = first.length - 1; length <= first.length + 2; length += 1)
      expect(typeOf(type, `${first}\n{}\n`.slice(0, length))).toBe(length > first.length + 1 ? EVENTS : null);
});

test.for([
  '{"id":"a","choices":[]}\n{"id":"b"}\n',
  '{"object":"chat.completion.chunk"}\n',
  '{"type":"message"}',
])('what nobody requested as a stream is one object: %s', (text) => {
  expect(typeOf('application/json', text, true)).toBe('application/json');
});

test.for([
  ['application/x-ndjson', '{"id":1}\n', 'application/json'],
  ['application/json', '{\n  "id": 1\n}\n', 'application/json'],
  ['application/json', '{"id":1}\n\n', 'application/json'],
  ['text/event-stream', '{"error":{}}\n', 'application/json'],
  ['application/json', `{"text":"${'a'.repeat(40_000)}`, 'application/json'],
  ['text/plain', '{curly}\n{words}', 'text/plain'],
] as const)('one object under %s is no stream of lines: %#', ([type, text, expected]) => {
  expect(typeOf(type, text, text.length < 1000, true)).toBe(expected);
});
