import { recordedStream } from '@gateway/simulator/recorded-stream';
import type { SocketEvent, TestSocket } from '@gateway/testkit/connect-socket';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Stack, startStack, WITH_TRANSLATED } from '../testing/start-stack.ts';
import { SOCKET_KEY } from '../testing/start-text.ts';

let stack: Stack;
let socket: TestSocket;
beforeAll(async () => {
  stack = await startStack({ configuration: WITH_TRANSLATED });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(async () => {
  stack.first.reset();
  socket = await stack.text.webSocket();
  return () => socket[Symbol.dispose]();
});

const create = (members: object) =>
  socket.send({ type: 'response.create', model: 'gpt-5.2', store: false, ...members });
const end = async (lane?: string): Promise<SocketEvent> => {
  const event = (await socket.answer(lane)).at(-1);
  if (event === undefined) throw new Error('no event');
  return event;
};
const idOf = ({ response }: SocketEvent): string => Object(response).id;
/** What the provider was sent the last time. */
const sent = () => JSON.stringify(stack.first.requests.at(-1)?.json());

const MODELS = ['gpt-5.2', 'translated'] as const;

test.for(MODELS)('%s: a response that is not stored is continued on its connection', async (model) => {
  create({ model, input: 'the first question' });
  const first = await end();
  create({ model, input: 'the second question', previous_response_id: idOf(first) });
  const second = await end();
  expect(second).toMatchObject({
    type: 'response.completed',
    response: { previous_response_id: idOf(first), store: false },
  });
  create({ model, input: 'the third question', previous_response_id: idOf(second) });
  expect(await end()).toMatchObject({ type: 'response.completed' });
  for (const text of ['the first question', 'the second question', 'the third question'])
    expect(sent()).toContain(text);
  expect(sent()).not.toContain('previous_response_id');
});

test.for(MODELS)('%s: another connection of the same key cannot continue it', async (model) => {
  create({ model, input: 'hi' });
  const id = idOf(await end());
  using other = await stack.text.webSocket();
  other.send({ type: 'response.create', model, input: 'and?', previous_response_id: id });
  expect((await other.answer()).at(-1)).toMatchObject({
    type: 'error',
    status: 400,
    code: 'previous_response_not_found',
    param: 'previous_response_id',
  });
});

test('only the newest response of a lane is remembered; another lane can fork it', async () => {
  create({ input: 'hi', stream_id: 'a' });
  const old = idOf(await end('a'));
  create({ input: 'and?', previous_response_id: old, stream_id: 'a' });
  const newest = idOf(await end('a'));
  create({ input: 'fork', previous_response_id: newest, stream_id: 'b' });
  expect(await end('b')).toMatchObject({ type: 'response.completed' });
  create({ input: 'back', previous_response_id: old, stream_id: 'b' });
  expect(await end('b')).toMatchObject({ code: 'previous_response_not_found' });
  create({ input: 'on', previous_response_id: newest, stream_id: 'a' });
  expect(await end('a')).toMatchObject({ type: 'response.completed' });
});

test('a continuation that fails has its lane forget the response, and no other lane', async () => {
  create({ input: 'hi', stream_id: 'a' });
  const id = idOf(await end('a'));
  stack.first.script({ status: 400 });
  create({ input: 'fork', previous_response_id: id, stream_id: 'b' });
  expect(await end('b')).toMatchObject({ type: 'error', status: 400 });
  create({ input: 'fork', previous_response_id: id, stream_id: 'b' });
  expect(await end('b')).toMatchObject({ type: 'response.completed' });
  stack.first.script({ status: 400 });
  create({ input: 'on', previous_response_id: id, stream_id: 'a' });
  expect(await end('a')).toMatchObject({ type: 'error', status: 400 });
  create({ input: 'on', previous_response_id: id, stream_id: 'a' });
  expect(await end('a')).toMatchObject({ code: 'previous_response_not_found' });
});

test('a stored response goes on from one that is not, and keeps all that led to it', async () => {
  create({ model: 'translated', input: 'the first question' });
  const first = idOf(await end());
  create({ model: 'translated', input: 'the second question', previous_response_id: first, store: true });
  const second = idOf(await end());
  socket[Symbol.dispose]();
  socket = await stack.text.webSocket();
  create({ model: 'translated', input: 'the third question', previous_response_id: second });
  expect(await end()).toMatchObject({
    type: 'response.completed',
    response: { previous_response_id: second },
  });
  for (const text of ['the first question', 'the second question', 'the third question'])
    expect(sent()).toContain(text);
});

test('what goes on from a response that only its provider has is not remembered in part', async () => {
  create({ input: 'hi' });
  await end();
  const { keys, services } = stack.text;
  const found = await keys.findKey(SOCKET_KEY);
  const origin = { channel: 'one', model: 'gpt-5.2', requestedModel: 'gpt-5.2' };
  const ids = [{ kind: 'response', id: 'resp_elsewhere' }] as const;
  await services.origins.remember(ids, { ...origin, keyId: found?.identity.keyId ?? '' });
  stack.first.script({ sse: recordedStream('responses-text') });
  create({ input: 'go on', previous_response_id: 'resp_elsewhere' });
  const id = idOf(await end());
  create({ input: 'and on', previous_response_id: id });
  expect(await end()).toMatchObject({ type: 'error', code: 'previous_response_not_found' });
});

test.for([
  ['gpt-5.2', true],
  ['gpt-5.2', false],
  ['translated', true],
  ['translated', false],
] as const)('%s, store: %s: a warm-up calls no provider, and can be gone on from', async ([model, store]) => {
  create({ model, input: 'prepare for this', generate: false, store, instructions: 'Be brief.' });
  const events = await socket.answer();
  expect(events.map(({ type, sequence_number }) => [type, sequence_number])).toEqual([
    ['response.created', 0],
    ['response.in_progress', 1],
    ['response.completed', 2],
  ]);
  const warm = events.at(-1);
  expect(warm).toMatchObject({
    response: { status: 'completed', output: [], model, store, instructions: 'Be brief.' },
  });
  expect(stack.first.requests).toHaveLength(0);
  create({ model, input: 'now answer', previous_response_id: warm && idOf(warm) });
  expect(await end()).toMatchObject({ type: 'response.completed' });
  expect(sent()).toContain('prepare for this');
  expect(sent()).toContain('now answer');
  expect(sent()).not.toContain('Be brief.');
});

test('a warm-up is checked like a response', async () => {
  create({ model: 'nope', input: 'hi', generate: false });
  expect(await end()).toMatchObject({ type: 'error', status: 404, code: 'model_not_found' });
  create({ input: 7, generate: false });
  expect(await end()).toMatchObject({ type: 'error', status: 400, param: 'input' });
});
