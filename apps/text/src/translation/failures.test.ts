import { collectSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { Stack } from '../testing/start-stack.ts';
import { deltaText, framesOf } from '../testing/test-streams.ts';
import {
  PAIRS,
  PATHS,
  requestOf,
  startPairs,
  type TextProtocolName,
  TRANSLATED_PAIRS,
} from '../testing/text-pairs.ts';

let stack: Stack;
/** The same with channels that may not be silent for long. */
let impatient: Stack;
/** The same where silence is broken soon. */
let keptAlive: Stack;
beforeAll(async () => {
  const reserved = ['responses', 'messages', 'chat'].map(
    (target) =>
      `  reserved-${target}: { kind: text, routes: [{ channel: ${target} }, { channel: reserve, priority: 1 }] }`,
  );
  stack = await startPairs({ models: reserved.join('\n') });
  impatient = await startPairs({ idleMs: 100 });
  keptAlive = await startPairs({ keepAliveMs: 20 });
});
afterAll(async () => {
  await stack[Symbol.asyncDispose]();
  await impatient[Symbol.asyncDispose]();
  await keptAlive[Symbol.asyncDispose]();
});
beforeEach(() => {
  stack.first.reset();
  keptAlive.first.reset();
  stack.second.reset();
});

const Failure = z.looseObject({
  error: z.looseObject({
    type: z.string(),
    message: z.string(),
    code: z.string().nullish(),
    param: z.string().nullish(),
  }),
});

const send = (caller: TextProtocolName, model: string, more: object = {}) =>
  stack.text.fetch(PATHS[caller], { body: requestOf(caller, model, 'Hello there', more) });

/** The error that a caller gets for an upstream's, by the dialect of its endpoint. */
const CONDITIONS = [
  ['overloaded', { fault: 'overloaded' }, [503, 'service_unavailable_error'], [529, 'overloaded_error']],
  ['rate limited', { status: 429, retryAfterSeconds: 7 }, [429, 'requests'], [429, 'rate_limit_error']],
  ['out of quota', { fault: 'quota' }, [503, 'server_error'], [529, 'overloaded_error']],
  ['broken', { status: 500 }, [502, 'server_error'], [500, 'api_error']],
  ['misconfigured', { fault: 'no-key' }, [502, 'server_error'], [500, 'api_error']],
  ['a proxy that speaks HTML', { html: true }, [502, 'server_error'], [500, 'api_error']],
  ['speaking garbage', { garbageAfter: 0 }, [502, 'server_error'], [500, 'api_error']],
  ['refusing', { status: 400 }, [400, 'invalid_request_error'], [400, 'invalid_request_error']],
] as const;

test.for(
  TRANSLATED_PAIRS.flatMap((pair) =>
    CONDITIONS.map(([what, script, openai, anthropic]) => ({ ...pair, what, script, openai, anthropic })),
  ),
)('$caller over $target: an upstream that is $what', async ({ caller, model, script, openai, anthropic }) => {
  stack.first.script(script);
  const reply = await send(caller, model);
  const body = await reply.json();
  const { error } = Failure.parse(body);
  expect([reply.status, error.type]).toEqual(caller === 'messages' ? anthropic : openai);
  if (caller === 'messages') expect(body).toMatchObject({ type: 'error', request_id: expect.any(String) });
  else expect(Object.keys(error).toSorted()).toEqual(['code', 'message', 'param', 'type']);
  expect(JSON.stringify(body)).not.toContain(stack.first.url);
  if (reply.status === 429) expect(reply.headers.get('retry-after')).toBe('7');
});

test.for(TRANSLATED_PAIRS)(
  '$caller over $target: a context that is too long is an error that its clients know',
  async ({ caller, model }) => {
    stack.first.script({ fault: 'context-length' });
    const reply = await send(caller, model);
    expect(reply.status).toBe(400);
    const { error } = Failure.parse(await reply.json());
    if (caller === 'messages') expect(error.message).toMatch(/^prompt is too long: /);
    else
      expect(error).toMatchObject({
        code: 'context_length_exceeded',
        param: caller === 'chat' ? 'messages' : 'input',
      });
  },
);

test.for(PAIRS)(
  "$caller over $target: a 404 for something of the caller's is the caller's, and the reserve is not called",
  async ({ caller, target }) => {
    stack.first.script({ fault: 'object-not-found' });
    const reply = await send(caller, `reserved-${target}`);
    const { error } = Failure.parse(await reply.json());
    expect([reply.status, error.type]).toEqual([
      404,
      caller === 'messages' ? 'not_found_error' : 'invalid_request_error',
    ]);
    expect(error.message).toMatch(/vs_68a1b2c3|file_011CNha8iCJc/);
    expect(reply.headers.get('x-should-retry')).toBe('false');
    expect(stack.second.requests).toEqual([]);
  },
);

test.for(PAIRS)(
  '$caller over $target: after a 404 for the model the reserve is called',
  async ({ caller, target }) => {
    stack.first.script({ fault: 'model-not-found' });
    expect((await send(caller, `reserved-${target}`)).status).toBe(200);
    expect(stack.second.requests.length).toBe(1);
  },
);

test("a message thread that the provider has lost reaches its caller in the provider's words", async () => {
  const lost = {
    type: 'error',
    error: {
      type: 'not_found_error',
      message: 'No message thread continues from msg_1.',
      details: { error_code: 'thread_not_found' },
    },
    request_id: 'req_provider',
  };
  stack.first.script({ status: 404, json: lost });
  const reply = await send('messages', 'to-messages');
  expect([reply.status, await reply.json()]).toEqual([404, lost]);
});

test('numbers of a chat server that is too small become the words by which Claude Code recovers', async () => {
  const message =
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.";
  stack.first.script({ status: 400, json: { error: { message, type: 'BadRequestError', code: 400 } } });
  const { error } = Failure.parse(await (await send('messages', 'to-chat')).json());
  expect(error.message).toBe('prompt is too long: 9001 tokens > 8192 maximum');
});

test.for([
  ['responses', 'to-messages', 'max_tokens: too much', 'max_tokens', 'max_output_tokens'],
  ['messages', 'to-chat', 'too much', 'max_tokens', 'max_tokens'],
  ['chat', 'to-responses', 'not so', 'text.format', 'response_format'],
  ['responses', 'to-chat', 'no', 'messages[3].content[0]', null],
  ['messages', 'to-responses', 'bad schema', 'tools[0].parameters.type', 'tools.0.input_schema.type'],
] as const)('%s %s: "%s" at %s is reported at %s', async ([caller, model, message, param, reported]) => {
  stack.first.script({
    status: 400,
    json: { type: 'error', error: { type: 'invalid_request_error', message, param, code: null } },
  });
  const { error } = Failure.parse(await (await send(caller, model)).json());
  if (caller === 'messages') expect(error.message).toBe(`${reported}: ${message}`);
  else expect(error.param).toBe(reported);
});

const endsOf: Readonly<
  Record<TextProtocolName, (events: readonly { event: string; data: string }[]) => void>
> = {
  responses: (events) => {
    expect(events.slice(-3).map(({ event, data }) => (data === '[DONE]' ? data : event))).toEqual([
      'error',
      'response.failed',
      '[DONE]',
    ]);
  },
  messages: (events) => {
    expect(events.at(-1)?.event).toBe('error');
    expect(events.map(({ event }) => event)).not.toContain('message_stop');
  },
  chat: (events) => {
    expect(JSON.parse(events.at(-1)?.data ?? '')).toMatchObject({ error: { message: expect.any(String) } });
    expect(events.map(({ data }) => data)).not.toContain('[DONE]');
  },
};

const BREAKS = [
  ['is cut', { cutAfter: 5 }],
  ['ends too early', { endAfter: 5 }],
  ['turns to garbage', { garbageAfter: 5 }],
  ['reports an error', { errorEventAfter: 5 }],
  ['falls silent', { stallAfter: 5 }],
] as const;

test.for(TRANSLATED_PAIRS.flatMap((pair) => BREAKS.map(([how, script]) => ({ ...pair, how, script }))))(
  '$caller over $target: a stream that $how ends as its clients expect, and counts as failed',
  async ({ caller, target, model, how, script }) => {
    const { first, text } = how === 'falls silent' ? impatient : stack;
    first.script({ tokens: 40, ...script });
    const requestId = `req_${caller}_${target}_${how.replaceAll(' ', '_')}`;
    const reply = await text.fetch(PATHS[caller], {
      body: requestOf(caller, model, 'Hello there', { stream: true }),
      headers: { 'x-request-id': requestId },
    });
    expect(reply.status).toBe(200);
    const events = (await collectSse(reply)).map(({ event = 'message', data }) => ({ event, data }));
    endsOf[caller](events.filter(({ event }) => event !== 'ping'));
    const line = await waitFor(() => text.lines.find((it) => it.requestId === requestId));
    expect(line.outcome).not.toBe('ok');
  },
);

test.for(TRANSLATED_PAIRS)(
  '$caller over $target: a stream that breaks before its first event is an HTTP error',
  async ({ caller, model }) => {
    stack.first.script({ endAfter: 0 });
    const reply = await send(caller, model, { stream: true });
    expect(reply.status).toBeGreaterThanOrEqual(500);
    expect(reply.headers.get('content-type')).toBe('application/json');
  },
);

/** What breaks a silence. */
const SIGNS: Record<TextProtocolName, string> = {
  responses: ': keepalive\n\n',
  messages: 'event: ping\n',
  chat: ': keepalive\n\n',
};

test.for(TRANSLATED_PAIRS)('$caller over $target: silence is broken', async ({ caller, model }) => {
  const resume = Promise.withResolvers<void>();
  keptAlive.first.script({ tokens: 40, stallAfter: 5, resume: resume.promise });
  const body = requestOf(caller, model, 'Hello there', { stream: true });
  const reply = await keptAlive.text.fetch(PATHS[caller], { body });
  const reader = reply.body?.getReader();
  let seen = '';
  // A sign may also come before the upstream has taken its script, which another request would get then.
  const isBroken = () =>
    seen.includes('"delta"') && seen.lastIndexOf(SIGNS[caller]) > seen.lastIndexOf('"delta"');
  while (!isBroken()) {
    const { value, done = true } = (await reader?.read()) ?? {};
    if (done) expect.fail(`the stream ended without a sign of life: ${seen}`);
    seen += Buffer.from(value ?? []).toString();
  }
  resume.resolve();
  await reader?.cancel();
});

test.for(PAIRS)(
  '$caller over $target: a caller who waits for the first output is kept alive, and learns of its failure in the stream',
  async ({ caller, model }) => {
    const gate = Promise.withResolvers<void>();
    keptAlive.first.script({ gate: gate.promise, status: 500 });
    const body = requestOf(caller, model, 'Hello there', { stream: true });
    const reply = await keptAlive.text.fetch(PATHS[caller], { body });
    expect(reply.status).toBe(200);
    let seen = '';
    for await (const chunk of reply.body ?? []) {
      seen += Buffer.from(chunk).toString();
      if (seen.split(SIGNS[caller]).length > 3) gate.resolve();
    }
    const events = framesOf(seen).map(({ data }) => data);
    expect(JSON.parse(events.findLast((data) => data?.startsWith('{')) ?? '{}')).toMatchObject(
      caller === 'responses' ? { type: 'response.failed' } : { error: { message: expect.any(String) } },
    );
  },
);

test.for(TRANSLATED_PAIRS)(
  '$caller over $target: a stream larger than every buffer arrives whole',
  async ({ caller, model }) => {
    const text = Array.from({ length: 15_000 }, (_, index) => `${index} 🐳`).join(' ');
    keptAlive.first.script({ text });
    const more = { stream: true, ...(caller === 'messages' && { max_tokens: 60_000 }) };
    const reply = await keptAlive.text.fetch(PATHS[caller], {
      body: requestOf(caller, model, 'Hello there', more),
    });
    expect(deltaText(await reply.text()).includes(text)).toBe(true);
  },
);

const stalled = async (caller: TextProtocolName, model: string, signal?: AbortSignal) => {
  stack.first.script({ tokens: 40, stallAfter: 5 });
  const reply = await stack.text.fetch(PATHS[caller], {
    body: requestOf(caller, model, 'Hello', { stream: true }),
    ...(signal && { signal }),
  });
  const upstream = await stack.first.nextRequest();
  return { reply, upstream };
};

test.for(TRANSLATED_PAIRS)(
  '$caller over $target: a caller who leaves within the stream aborts the upstream call',
  async ({ caller, model }) => {
    const leaving = new AbortController();
    const { reply, upstream } = await stalled(caller, model, leaving.signal);
    await reply.body?.getReader().read();
    leaving.abort();
    expect(await upstream.closed).toBe('aborted');
  },
);

test('the drain deadline ends a translated stream as its clients expect', async () => {
  await using other = await startPairs();
  other.first.script({ tokens: 40, stallAfter: 5 });
  const reply = await other.text.fetch(PATHS.responses, {
    body: requestOf('responses', 'to-messages', 'Hello', { stream: true }),
  });
  const reading = collectSse(reply);
  await other.first.nextRequest();
  other.text.passDeadline();
  const events = (await reading).map(({ event = 'message', data }) => ({ event, data }));
  endsOf.responses(events);
});
