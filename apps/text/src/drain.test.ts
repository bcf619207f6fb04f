import { recordedStream } from '@gateway/simulator/recorded-stream';
import { collectSse, readSse } from '@gateway/testkit/collect-sse';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PLAIN, type Stack, startStack } from './testing/start-stack.ts';

let stack: Stack;
beforeEach(async () => {
  stack = await startStack({ configuration: PLAIN, keepAliveMs: 20 });
});
afterEach(() => stack[Symbol.asyncDispose]());

const never = new Promise<void>(() => undefined);
const RESPONSE = { model: 'patient', input: 'hi', stream: true };
const MESSAGE = {
  model: 'patient',
  max_tokens: 50,
  messages: [{ role: 'user', content: 'hi' }],
  stream: true,
};

test.for([
  ['/v1/responses', RESPONSE, 'responses-text', ['error', 'response.failed', undefined]],
  ['/v1/messages', MESSAGE, 'messages-text', ['error']],
] as const)(
  "%s: at the drain deadline a stream ends with its protocol's error event",
  async ([path, body, name, ending]) => {
    stack.first.script({ sse: recordedStream(name), stallAfter: 2, resume: never });
    const reply = await stack.text.fetch(path, { body });
    const received = await stack.first.nextRequest();
    const events: (string | undefined)[] = [];
    for await (const { event } of readSse(reply)) {
      events.push(event);
      if (events.length === 2) stack.text.passDeadline();
    }
    expect(events.filter((event) => event !== 'ping').slice(2)).toEqual(ending);
    expect(await received.closed).toBe('aborted');
  },
);

test('at the drain deadline a request without output gets a 503 that can be repeated', async () => {
  stack.first.script({ gate: never });
  const asked = stack.text.fetch('/v1/responses', { body: { ...RESPONSE, model: 'gpt-5.2' } });
  await stack.first.nextRequest();
  stack.text.passDeadline();
  const reply = await asked;
  expect(reply.status).toBe(503);
  expect(reply.headers.get('x-should-retry')).toBe('true');
  expect(await reply.json()).toMatchObject({ error: { code: 'shutting_down' } });
});

test.for([
  ['/v1/responses', RESPONSE, 'responses-text', ': keepalive\n\n'],
  ['/v1/messages', MESSAGE, 'messages-text', 'event: ping\ndata: {"type": "ping"}\n\n'],
] as const)(
  '%s: silence is broken between whole frames, and the stream stays itself',
  async ([path, body, name, frame]) => {
    const resume = Promise.withResolvers<void>();
    const sse = recordedStream(name);
    const half = sse.indexOf('\n\n') + 20;
    stack.first.script({ sse, cuts: [half], stallAfter: 1, resume: resume.promise });
    const reply = await stack.text.fetch(path, { body });
    let seen = '';
    for await (const chunk of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      seen += chunk;
      if (seen.includes(frame)) resume.resolve();
    }
    expect(seen).toContain(frame);
    expect(seen.replaceAll(frame, '')).toBe(sse.toString().replaceAll(frame, ''));
    expect(
      await collectSse(new Response(seen, { headers: { 'content-type': 'text/event-stream' } })),
    ).not.toEqual([]);
  },
);
