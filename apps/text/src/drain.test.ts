import { recordedStream } from '@gateway/simulator/recorded-stream';
import { collectSse, readSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PLAIN, type Stack, startStack } from './testing/start-stack.ts';

let stack: Stack;
beforeEach(async () => {
  stack = await startStack({ configuration: PLAIN, keepAliveMs: 20 });
});
afterEach(() => stack[Symbol.asyncDispose]());

const never = new Promise<void>(() => undefined);
/** What breaks a silence. */
const COMMENT = ': keepalive\n\n';
const PING = 'event: ping\ndata: {"type": "ping"}\n\n';
const RESPONSE = { model: 'patient', input: 'hi', stream: true };
const MESSAGE = {
  model: 'patient',
  max_tokens: 50,
  messages: [{ role: 'user', content: 'hi' }],
  stream: true,
};

test.for([
  ['/v1/responses', RESPONSE, 'responses-text', 5, 5, ['error', 'response.failed', undefined]],
  // One of its events is a ping, as those that break silence are.
  ['/v1/messages', MESSAGE, 'messages-text', 4, 3, ['error']],
] as const)(
  "%s: at the drain deadline a stream ends with its protocol's error event",
  async ([path, body, name, stallAfter, shown, ending]) => {
    stack.first.script({ sse: recordedStream(name), stallAfter, resume: never });
    const reply = await stack.text.fetch(path, { body });
    const received = await stack.first.nextRequest();
    const events: (string | undefined)[] = [];
    for await (const { event } of readSse(reply)) {
      if (event !== 'ping') events.push(event);
      if (events.length === shown) stack.text.passDeadline();
    }
    expect(events.slice(shown)).toEqual(ending);
    expect(await received.closed).toBe('aborted');
  },
);

test('at the drain deadline a request without output gets a 503 that can be repeated', async () => {
  // Nothing breaks its silence before.
  await using patient = await startStack({ configuration: PLAIN, keepAliveMs: 60_000 });
  patient.first.script({ gate: never });
  const replying = patient.text.fetch('/v1/responses', { body: { ...RESPONSE, model: 'gpt-5.2' } });
  await patient.first.nextRequest();
  patient.text.passDeadline();
  const reply = await replying;
  expect(reply.status).toBe(503);
  expect(reply.headers.get('x-should-retry')).toBe('true');
  expect(await reply.json()).toMatchObject({ error: { code: 'shutting_down' } });
});

test.for([
  ['/v1/responses', RESPONSE, 'responses-text', COMMENT],
  ['/v1/messages', MESSAGE, 'messages-text', PING],
] as const)(
  '%s: silence is broken between whole frames, and the stream stays itself',
  async ([path, body, name, frame]) => {
    const resume = Promise.withResolvers<void>();
    const sse = recordedStream(name);
    const half = sse.indexOf('\n\n', sse.indexOf('_delta\n')) + 20;
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

test.for([
  ['/v1/responses', RESPONSE, 'responses-text', COMMENT],
  ['/v1/messages', MESSAGE, 'messages-text', PING],
] as const)(
  '%s: silence is broken while start events are held back, too',
  async ([path, body, name, frame]) => {
    const resume = Promise.withResolvers<void>();
    const sse = recordedStream(name).toString();
    stack.first.script({ sse, stallAfter: 1, resume: resume.promise });
    const reply = await stack.text.fetch(path, { body });
    let seen = '';
    for await (const chunk of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      seen += chunk;
      if (seen === frame) resume.resolve();
    }
    expect(seen.startsWith(frame)).toBe(true);
    expect(seen.replaceAll(frame, '')).toContain(sse.slice(0, sse.indexOf('\n\n') + 2));
  },
);

test.for([
  ['/v1/responses', RESPONSE, 'responses-text', ['error', 'response.failed', undefined]],
  ['/v1/messages', MESSAGE, 'messages-text', ['error']],
] as const)(
  '%s: a caller who had to be kept waiting has the error in its stream',
  async ([path, body, name, ending]) => {
    const gate = Promise.withResolvers<void>();
    const [start = ''] = recordedStream(name)
      .toString()
      .split(/(?<=\n\n)/);
    stack.first.script({ sse: `${start}: on its way\n\n`, stallAfter: 1, resume: gate.promise, cutAfter: 2 });
    const requestId = `req_waiting_${name}`;
    const reply = await stack.text.fetch(path, { body, headers: { 'x-request-id': requestId } });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-gateway-attempts')).toBeNull();
    gate.resolve();
    const events = await collectSse(reply);
    expect(events.map(({ event }) => event).filter((event) => event !== 'ping')).toEqual(ending);
    const line = await waitFor(() => stack.text.lines.find((one) => one.requestId === requestId));
    expect(line).toMatchObject({ outcome: 'failed', 'error.code': 'upstream_failed' });
  },
);
