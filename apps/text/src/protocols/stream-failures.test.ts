import { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { StreamTranslator } from '../conversion/translate-stream.ts';
import { testReplyContext } from '../testing/test-context.ts';
import { CALLERS, planFor } from '../testing/test-streams.ts';
import { keepAliveFrame } from './protocols.ts';

const delta = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const translatorFor = (caller: (typeof CALLERS)[number]) =>
  new StreamTranslator(planFor(caller, 'chat'), testReplyContext());

/** The last frames of a stream that broke, by the caller's protocol. */
const ENDING = {
  responses: /event: error\n.*\n\nevent: response\.failed\n.*\n\ndata: \[DONE\]\n\n$/,
  messages: /event: error\ndata: \{"type":"error","error":\{"type":"timeout_error",.*\n\n$/,
  chat: /data: \{"error":\{.*"code":"upstream_timeout".*\n\n$/,
  gemini: /\{"error":\{"code":504,.*"status":"DEADLINE_EXCEEDED".*\}\n?\n?$/,
};

test.for(CALLERS)(
  'a time limit that passes in the middle ends the stream of a caller of %s once',
  (caller) => {
    const translator = translatorFor(caller);
    translator.push(Buffer.from(delta('Hel')));
    const error = new GatewayError('upstream_timeout', 'The upstream went silent.');
    expect(translator.fail(error).join('')).toMatch(ENDING[caller]);
    expect(translator.failure).toBe(error);
    expect(translator.ended).toBe(true);
    const later = [translator.fail(error), translator.push(Buffer.from(delta('lo'))), translator.end()];
    expect(later.flat().join('')).toBe('');
  },
);

test.for(CALLERS)('a caller of %s is sent nothing while a failure can still be an HTTP error', (caller) => {
  const translator = translatorFor(caller);
  expect(translator.push(Buffer.from(': waiting\n\n')).join('')).toBe('');
  expect(translator.fail(new GatewayError('upstream_timeout', 'Too slow.')).join('')).toBe('');
  expect(translator.started).toBe(false);
  expect(translator.failure?.code).toBe('upstream_timeout');
});

test('frames and output are distinguished, so that another channel may be tried before the first output', () => {
  const translator = translatorFor('messages');
  translator.push(Buffer.from(delta('')));
  expect(translator).toMatchObject({ started: true, hasOutput: false });
  translator.push(Buffer.from(delta('Hi')));
  expect(translator).toMatchObject({ hasOutput: true, outputLength: 2 });
});

test('an event without end is not collected forever', () => {
  const translator = translatorFor('chat');
  translator.push(Buffer.from(delta('Hi')));
  const piece = Buffer.from(`data: ${'a'.repeat(1 << 20)}`);
  let ending = '';
  for (let count = 0; count < 70 && ending === ''; count += 1) ending = translator.push(piece).join('');
  expect(ending).toMatch(/^data: \{"error":/);
  expect(translator.failure?.code).toBe('upstream_failed');
});

test('bytes that are no event stream at all are an upstream failure', () => {
  const translator = translatorFor('responses');
  const frames = [...translator.push(Buffer.from('<html>Bad gateway</html>')), ...translator.end()];
  expect(frames.join('')).toBe('');
  expect(translator.failure?.code).toBe('upstream_failed');
});

test('each protocol has its own way to keep a connection alive', () => {
  expect(CALLERS.map(keepAliveFrame)).toEqual([
    ': keepalive\n\n',
    'event: ping\ndata: {"type": "ping"}\n\n',
    ': keepalive\n\n',
    '\n',
  ]);
});

test.for(['constructor', '__proto__', 'toString'])(
  'an upstream that sends %s where a known word belongs is survived',
  (word) => {
    const translator = translatorFor('messages');
    translator.push(
      Buffer.from(`data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"${word}"}]}\n\n`),
    );
    expect(translator.end().join('')).toContain('"stop_reason":"end_turn"');
    expect(translator.finish?.unknown).toBe(word);
  },
);
