import { recordedStream } from '@gateway/simulator/recorded-stream';
import { collectSse } from '@gateway/testkit/collect-sse';
import { connectSocket, type TestSocket } from '@gateway/testkit/connect-socket';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack, WITH_TRANSLATED } from '../testing/start-stack.ts';

let stack: Stack;
let socket: TestSocket;
beforeAll(async () => {
  stack = await startStack({ configuration: WITH_TRANSLATED, maxBodyBytes: 4096 });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(async () => {
  stack.first.reset();
  socket = await stack.text.webSocket();
  return () => socket[Symbol.dispose]();
});

const CREATE = { type: 'response.create', model: 'gpt-5.2', input: 'hi', store: false };
const sse = recordedStream('responses-text');
const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);
const last = async (lane?: string) => (await socket.answer(lane)).at(-1);

test('the events are those of the event stream, one message each', async () => {
  const { type: _, ...body } = CREATE;
  stack.first.script({ sse });
  const reply = await stack.text.fetch('/v1/responses', { body: { ...body, stream: true } });
  const streamed = (await collectSse(reply)).flatMap(({ json }) => (json === undefined ? [] : [json]));
  stack.first.script({ sse });
  socket.send(CREATE);
  expect(await socket.answer()).toEqual(streamed);
});

test('a message is text even where the provider sends bytes that are no UTF-8, which would end the connection', async () => {
  const broken = sse.toString('latin1').replace('"delta":"Hel"', '"delta":"\xffHel"');
  stack.first.script({ sse: Buffer.from(broken, 'latin1') });
  socket.send(CREATE);
  const events = await socket.answer();
  expect(events.map(({ delta }) => delta)).toContain('\ufffdHel');
  socket.send(CREATE);
  expect(await last()).toMatchObject({ type: 'response.completed' });
});

test('the provider gets the body as it came, without what only the event has, and streamed', async () => {
  socket.send(
    '{"type":"response.create", "stream_id":"a","metadata":{"n":"\\u00e9","type":"x"},"background":false,"model":"gpt-5.2","generate":true,"top_p":0.10,"stream":false,"input":"hi"}',
  );
  await socket.answer('a');
  expect(stack.first.requests[0]?.body.toString()).toBe(
    '{"metadata":{"n":"\\u00e9","type":"x"},"model":"gpt-5.2","top_p":0.10,"input":"hi","stream":true}',
  );
});

test.for([
  ['invalid JSON', '{"type":', { status: 400, code: 'invalid_request_error' }],
  ['an array', '[]', { status: 400, code: 'invalid_type' }],
  ['no type', '{}', { status: 400, code: 'missing_required_parameter', param: 'type' }],
  ['an unknown type', '{"type":"session.update"}', { status: 400, code: 'invalid_value', param: 'type' }],
  ['binary data', Buffer.from('{}'), { status: 400, code: 'invalid_value' }],
  [
    'a frame that is too large',
    JSON.stringify({ ...CREATE, input: 'x'.repeat(5000) }),
    { status: 413, code: 'request_too_large' },
  ],
  [
    'an invalid lane',
    JSON.stringify({ ...CREATE, stream_id: 'a b' }),
    { status: 400, code: 'invalid_stream_id', param: 'stream_id' },
  ],
  [
    'background',
    JSON.stringify({ ...CREATE, background: true }),
    { status: 400, code: 'unsupported_value', param: 'background' },
  ],
  ['no model', '{"type":"response.create","input":"hi"}', { status: 400, param: 'model' }],
  [
    'a model that does not exist',
    JSON.stringify({ ...CREATE, model: 'nope' }),
    { status: 404, code: 'model_not_found' },
  ],
] as const)('%s is answered with an error event, and the connection stays', async ([, frame, expected]) => {
  socket.webSocket.send(frame);
  const error = await last();
  expect(error).toMatchObject({ type: 'error', ...expected });
  expect(error?.error).toMatchObject({
    code: expect.any(String),
    message: expect.any(String),
    headers: { 'x-request-id': expect.stringMatching(/^req_/) },
  });
  socket.send(CREATE);
  expect(await last()).toMatchObject({ type: 'response.completed' });
});

test('a lane is answered in order, other lanes meanwhile, and each event names its lane', async () => {
  const gate = Promise.withResolvers<void>();
  stack.first.script({ sse, stallAfter: 5, resume: gate.promise });
  socket.send({ ...CREATE, stream_id: 'slow' });
  await waitFor(() => socket.events.length === 5);
  socket.send({ ...CREATE, stream_id: 'slow', model: 'nope' });
  socket.send({ ...CREATE, stream_id: 'quick' });
  socket.send(CREATE);
  expect(await last('quick')).toMatchObject({ type: 'response.completed', stream_id: 'quick' });
  expect(await last()).toMatchObject({ type: 'response.completed' });
  expect(socket.events.filter(({ stream_id: id }) => id === 'slow')).toHaveLength(5);
  gate.resolve();
  expect(await last('slow')).toMatchObject({ type: 'response.completed', stream_id: 'slow' });
  expect(await last('slow')).toMatchObject({ type: 'error', status: 404, stream_id: 'slow' });
});

test('sixteen responses run at a time, and the next one waits', async () => {
  const gate = Promise.withResolvers<void>();
  for (let at = 0; at < 17; at += 1) {
    stack.first.script({ gate: gate.promise, sse });
    socket.send({ ...CREATE, stream_id: `lane-${at}` });
  }
  await waitFor(() => stack.first.requests.length === 16);
  socket.send({ type: 'response.steer', previous_response_id: 'resp_x', input: 'faster' });
  await socket.answer();
  expect(stack.first.requests).toHaveLength(16);
  gate.resolve();
  for (let at = 0; at < 17; at += 1)
    expect(await last(`lane-${at}`)).toMatchObject({ type: 'response.completed' });
});

test('more responses than can wait, and a thirty-third lane, are refused', async () => {
  stack.first.script({ gate: new Promise(() => undefined) });
  for (let at = 0; at < 66; at += 1) socket.send({ ...CREATE, stream_id: 'busy' });
  expect(await last('busy')).toMatchObject({ type: 'error', status: 429, code: 'rate_limit_exceeded' });
  for (let at = 1; at < 32; at += 1) {
    socket.send({ ...CREATE, model: 'nope', stream_id: `lane-${at}` });
    expect(await last(`lane-${at}`)).toMatchObject({ status: 404 });
  }
  socket.send({ ...CREATE, stream_id: 'one-too-many' });
  expect(await last('one-too-many')).toMatchObject({
    status: 400,
    code: 'websocket_stream_limit_reached',
    param: 'stream_id',
  });
});

test.for([
  ['faster', 'steering_not_supported'],
  [[{ role: 'user', content: 'faster' }], 'steering_not_supported'],
  [[{ role: 'system', content: 'faster' }], 'invalid_input'],
  [[], 'invalid_input'],
] as const)('a steer with %j fails as %s, and gives its input back', async ([input, code]) => {
  socket.send({ type: 'response.steer', previous_response_id: 'resp_x', input });
  expect(await last()).toMatchObject({
    type: 'response.steer.failed',
    error: { type: 'invalid_request_error', code },
    steer: { previous_response_id: 'resp_x', input },
  });
});

test('what a translated request loses is named in its first event', async () => {
  socket.send({ ...CREATE, model: 'translated', presence_penalty: 1, stream_id: 'a' });
  const [first, ...rest] = await socket.answer('a');
  expect(first).toMatchObject({
    type: 'response.created',
    stream_id: 'a',
    headers: { 'x-gateway-dropped': expect.stringContaining('presence_penalty') },
  });
  for (const event of rest) expect(event).not.toHaveProperty('headers');
});

test('without an identity of the edge there is no WebSocket', async () => {
  const url = `${stack.text.url}/v1/responses`;
  await expect(connectSocket(url, {})).rejects.toMatchObject({ status: 404 });
  // It could not be looked up again.
  await expect(connectSocket(url, stack.text.identityHeaders())).rejects.toMatchObject({ status: 404 });
});

test.for(['gpt-5.2', 'translated'])(
  '%s: a stream that breaks ends with response.failed, and the connection goes on',
  async (model) => {
    stack.first.script({
      sse: recordedStream(model === 'translated' ? 'messages-text' : 'responses-text'),
      cutAfter: 5,
    });
    socket.send({ ...CREATE, model });
    const events = await socket.answer();
    expect(typesOf(events).slice(-2)).toEqual(['error', 'response.failed']);
    expect(events.at(-2)).toMatchObject({ status: 502, error: { code: expect.any(String) } });
    socket.send({ ...CREATE, model });
    expect(await last()).toMatchObject({ type: 'response.completed' });
  },
);

test("each response is a request of its own in the log, and in the key's usage", async () => {
  socket.send({ ...CREATE, stream_id: 'logged' });
  await socket.answer('logged');
  socket.send({ ...CREATE, model: 'nope', stream_id: 'logged' });
  await socket.answer('logged');
  const lines = await waitFor(() => {
    const found = stack.text.lines.filter(({ lane }) => lane === 'logged');
    return found.length === 2 && found;
  });
  expect(lines).toMatchObject([
    {
      path: '/v1/responses',
      method: 'POST',
      status: 200,
      outcome: 'ok',
      transport: 'websocket',
      usageId: expect.any(String),
    },
    { path: '/v1/responses', status: 404, outcome: 'refused', 'error.code': 'model_not_found' },
  ]);
  const [one, other] = lines;
  expect(one?.requestId).not.toBe(other?.requestId);
  expect(one?.connectionId).toBe(other?.connectionId);
});

test("an error event of the provider's own gets a status and a code", async () => {
  const begin = sse
    .toString()
    .split(/(?<=\n\n)/)
    .slice(0, 5)
    .join('');
  const event = {
    sequence_number: 5,
    type: 'error',
    error: { type: 'server_error', code: null, message: 'No.' },
  };
  stack.first.script({ sse: `${begin}event: error\ndata: ${JSON.stringify(event)}\n\n` });
  socket.send(CREATE);
  await waitFor(() => socket.events.some(({ type }) => type === 'error'));
  expect(socket.events.find(({ type }) => type === 'error')).toMatchObject({
    status: 502,
    error: { type: 'server_error', code: 'server_error', message: 'No.' },
  });
});

test('a caller who leaves aborts every upstream request of the connection', async () => {
  for (const lane of ['a', 'b']) {
    stack.first.script({ sse, stallAfter: 5, resume: new Promise(() => undefined) });
    socket.send({ ...CREATE, stream_id: lane });
  }
  await waitFor(() => socket.events.length === 10);
  socket.connection.resetAndDestroy();
  expect(await Promise.all(stack.first.requests.map(({ closed }) => closed))).toEqual(['aborted', 'aborted']);
});
