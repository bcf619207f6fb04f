import { recordedStream } from '@gateway/simulator/recorded-stream';
import { collectSse, readSse } from '@gateway/testkit/collect-sse';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { PLAIN, type Stack, startStack } from '../testing/start-stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ configuration: PLAIN });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const RESPONSE = { model: 'gpt-5.2', input: 'hi', stream: true };
const MESSAGE = {
  model: 'gpt-5.2',
  max_tokens: 50,
  messages: [{ role: 'user', content: 'hi' }],
  stream: true,
};

let requests = 0;
async function send(path: string, body: object) {
  requests += 1;
  const id = `req_broken_${requests}`;
  const reply = await stack.text.fetch(path, { body, headers: { 'x-request-id': id } });
  const line = () =>
    waitFor(() => stack.text.lines.find(({ requestId }) => requestId === id), { what: `line ${id}` });
  return { reply, line };
}

const framesOf = (name: string) =>
  recordedStream(name)
    .toString()
    .split(/(?<=\n\n)/);
const RESPONSE_FRAMES = framesOf('responses-function-calls-parallel');
const MESSAGE_FRAMES = framesOf('messages-tool-use-parallel');

/** How a stream can break after so many events, and the error that the caller gets. */
const BREAKS = [
  ['cut off', (after: number) => ({ cutAfter: after }), 'upstream_failed'],
  ['ended early', (after: number) => ({ endAfter: after }), 'upstream_failed'],
  ['garbled', (after: number) => ({ garbageAfter: after }), 'upstream_failed'],
  ['silent', (after: number) => ({ stallAfter: after }), 'upstream_timeout'],
] as const;

/** Before its first output a stream that breaks is another channel's, or an HTTP error: see falling-through.test.ts. */
const [FIRST_RESPONSE_CUT, FIRST_MESSAGE_CUT] = [3, 3];
const responseCuts = RESPONSE_FRAMES.slice(FIRST_RESPONSE_CUT, -1).map(
  (_, index) => index + FIRST_RESPONSE_CUT,
);
/** With its reason to stop a message is whole. */
const messageCuts = MESSAGE_FRAMES.slice(FIRST_MESSAGE_CUT, -1).map((_, index) => index + FIRST_MESSAGE_CUT);

for (const [how, directive, code] of BREAKS) {
  // Each silence costs its time limit, so it is tried at the beginning and at the end only.
  const tried = (cuts: readonly number[]) =>
    how === 'silent' ? [...cuts.slice(0, 1), ...cuts.slice(-1)] : cuts;
  const model = how === 'silent' ? 'impatient' : 'gpt-5.2';

  test.for(tried(responseCuts))(
    `a response that is ${how} after %i events ends with error, response.failed and [DONE]`,
    async (after) => {
      stack.first.script({ sse: RESPONSE_FRAMES.join(''), ...directive(after) });
      const { reply, line } = await send('/v1/responses', { ...RESPONSE, model });
      const whole = await reply.text();
      const before = RESPONSE_FRAMES.slice(0, after).join('');
      expect(whole.startsWith(before)).toBe(true);
      const [error, failed, done, ...rest] = whole.slice(before.length).split(/(?<=\n\n)/);
      expect(JSON.parse(error?.replace(/^event: error\ndata: /, '') ?? '')).toMatchObject({
        type: 'error',
        sequence_number: after,
        code: 'server_error',
        error: { code: 'server_error' },
      });
      expect(JSON.parse(failed?.replace(/^event: response.failed\ndata: /, '') ?? '')).toMatchObject({
        sequence_number: after + 1,
        response: { id: 'resp_01', status: 'failed', error: { code: 'server_error' } },
      });
      expect([done, ...rest]).toEqual(['data: [DONE]\n\n']);
      expect(await line()).toMatchObject({
        status: 200,
        outcome: 'failed',
        'error.code': code,
        'error.source': 'upstream',
      });
    },
  );

  test.for(tried(messageCuts))(
    `a message that is ${how} after %i events ends with an error event`,
    async (after) => {
      stack.first.script({ sse: MESSAGE_FRAMES.join(''), ...directive(after) });
      const { reply, line } = await send('/v1/messages', { ...MESSAGE, model });
      const whole = await reply.text();
      const before = MESSAGE_FRAMES.slice(0, after).join('');
      expect(whole.startsWith(before)).toBe(true);
      const type = code === 'upstream_timeout' ? 'timeout_error' : 'api_error';
      const ending = whole.slice(before.length);
      expect(ending).toMatch(/^event: error\ndata: \{.*\}\n\n$/);
      expect(JSON.parse(ending.slice('event: error\ndata: '.length))).toMatchObject({
        type: 'error',
        error: { type },
      });
      expect(await line()).toMatchObject({ status: 200, outcome: 'failed', 'error.code': code });
    },
  );
}

test('what came together with garbage, and before it, still reaches the caller', async () => {
  const [first = '', second = '', third = ''] = MESSAGE_FRAMES;
  stack.first.script({ sse: `${first}${second}${third}data: garbage\n\n${third}`, cuts: 'whole' });
  const { reply } = await send('/v1/messages', MESSAGE);
  const whole = await reply.text();
  const before = first + second + third;
  expect(whole.startsWith(before)).toBe(true);
  expect(whole.slice(before.length)).toMatch(/^event: error\ndata: \{.*\}\n\n$/);
});

test('half a frame of a stream that was cut never reaches the caller', async () => {
  const whole = recordedStream('responses-text');
  const cut = whole.indexOf('"delta":"lo!"') + 4;
  stack.first.script({ sse: whole, cuts: [cut], cutAfter: 1 });
  const { reply } = await send('/v1/responses', RESPONSE);
  const events = await collectSse(reply);
  expect(events.map(({ event }) => event).slice(-4)).toEqual([
    'response.output_text.delta',
    'error',
    'response.failed',
    undefined,
  ]);
  expect(Object(events.at(-2)?.json).response.output[0].content[0].text).toBe('Hel');
});

test.for([
  ['/v1/responses', RESPONSE, 'responses-error-mid-stream'],
  ['/v1/messages', MESSAGE, 'messages-error-mid-stream'],
] as const)(
  "%s: an upstream's own error event passes, and the request counts as failed",
  async ([path, body, name]) => {
    stack.first.script({ sse: recordedStream(name) });
    const { reply, line } = await send(path, body);
    expect(await reply.text()).toBe(recordedStream(name).toString());
    expect(await line()).toMatchObject({ outcome: 'failed', 'error.code': 'upstream_failed' });
  },
);

test.for([
  [
    'an error event',
    {
      sse: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    },
  ],
  ['nothing at all', { closeBeforeResponse: true }],
  ['an error', { status: 500 }],
  ['too many requests', { status: 429 }],
] as const)('a channel that begins with %s is passed over for the next', async ([, reply]) => {
  stack.first.script(reply);
  const { reply: answer, line } = await send('/v1/messages', { ...MESSAGE, model: 'both' });
  expect(answer.headers.get('x-gateway-channel')).toBe('two');
  expect((await collectSse(answer)).at(-1)?.event).toBe('message_stop');
  expect(await line()).toMatchObject({ outcome: 'ok', attempts: 2, channel: 'two' });
});

test.for([
  ['garbage', { garbageAfter: 0 }],
  ['nothing', { empty: true }],
  ['half of its body', { cutAfter: 1 }],
  ['a page of HTML', { html: true }],
] as const)(
  'without streaming, a channel that answers with %s is passed over, and alone it is a 502',
  async ([, fault]) => {
    for (const [model, status] of [
      ['both', 200],
      ['gpt-5.2', 502],
    ] as const) {
      stack.first.script(fault);
      const { reply } = await send('/v1/responses', { ...RESPONSE, model, stream: false });
      expect(reply.status).toBe(status);
      expect(await reply.json()).toMatchObject(
        status === 200 ? { object: 'response' } : { error: { code: 'upstream_error' } },
      );
    }
  },
);

test.for([
  ['/v1/responses', RESPONSE, 502],
  ['/v1/messages', MESSAGE, 500],
] as const)(
  '%s: a stream without a single event is an error with its status',
  async ([path, body, status]) => {
    stack.first.script({ sse: '', endAfter: 0 });
    const { reply } = await send(path, body);
    expect(reply.status).toBe(status);
    expect(reply.headers.get('content-type')).toBe('application/json');
  },
);

test('a caller who leaves before the first byte aborts the upstream call', async () => {
  const never = new Promise<void>(() => undefined);
  stack.first.script({ gate: never });
  const leaving = new AbortController();
  const gone = stack.text.fetch('/v1/responses', {
    body: RESPONSE,
    signal: leaving.signal,
    headers: { 'x-request-id': 'req_left_0001' },
  });
  const received = await stack.first.nextRequest();
  leaving.abort();
  await expect(gone).rejects.toThrow();
  expect(await received.closed).toBe('aborted');
  const line = await waitFor(() => stack.text.lines.find(({ requestId }) => requestId === 'req_left_0001'));
  expect(line).toMatchObject({ status: 499, outcome: 'left' });
});

test.for(['/v1/responses', '/v1/messages'])(
  '%s: a caller who leaves within the stream aborts the upstream call',
  async (path) => {
    stack.first.script({ stallAfter: 6 });
    const body = path === '/v1/responses' ? RESPONSE : MESSAGE;
    const { reply, line } = await send(path, body);
    const received = await stack.first.nextRequest();
    for await (const _ of readSse(reply)) break;
    expect(await received.closed).toBe('aborted');
    expect(await line()).toMatchObject({ status: 499, outcome: 'left' });
  },
);

test('where the channel drains, the upstream is read to its end after the caller has left', async () => {
  const resume = Promise.withResolvers<void>();
  stack.first.script({ stallAfter: 6, resume: resume.promise });
  const { reply, line } = await send('/v1/responses', { ...RESPONSE, model: 'patient' });
  const received = await stack.first.nextRequest();
  for await (const _ of readSse(reply)) break;
  expect(await line()).toMatchObject({ outcome: 'left' });
  resume.resolve();
  expect(await received.closed).toBe('complete');
});
