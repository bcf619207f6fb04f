import { connectSocket, type TestSocket } from '@gateway/testkit/connect-socket';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { checkedEvents, compact, Event, MODELS, startWithModels, user } from './support/open-responses.ts';
import type { Gateway } from './support/start-gateway.ts';

/**
 * What the public Open Responses checks ask of a server's WebSocket, for a model whose channel speaks Responses and for two
 * that are translated. Nothing is stored: a conversation lasts as long as its connection.
 */

let gateway: Gateway;
let socket: TestSocket;
const connect = () =>
  connectSocket(`${gateway.url}/v1/responses`, { authorization: `Bearer ${gateway.key}` });
beforeAll(async () => {
  gateway = await startWithModels();
});
afterAll(() => gateway?.close());
beforeEach(async () => {
  socket = await connect();
});
afterEach(() => socket?.[Symbol.dispose]());

/** An error has a status, and a code that is a text; nothing of a response came before it. */
const PublishedError = z.looseObject({
  type: z.literal('error'),
  status: z.int(),
  error: z.looseObject({
    code: z.string(),
    message: z.string(),
    type: z.string().optional(),
    param: z.string().nullish(),
  }),
});

describe.for(MODELS)('the model %s', (model) => {
  const create = (body: object, on = socket) =>
    on.send({ type: 'response.create', model, store: false, ...body });
  const respond = async (body: object, on = socket) => {
    create(body, on);
    const { events, response } = checkedEvents(await on.answer());
    expect(events[0]?.type).toBe('response.created');
    expect(events.some(({ type }) => type === 'response.output_text.delta')).toBe(true);
    expect(response).toMatchObject({ status: 'completed', output: [{ type: 'message' }] });
    return response;
  };
  const refuse = async (body: object, on = socket) => {
    create(body, on);
    const events = await on.answer();
    expect(events).toHaveLength(1);
    Event.parse(events[0]);
    return PublishedError.parse(events[0]);
  };

  test('answers over a WebSocket with the events of a stream', async () => {
    expect(await respond({ input: [user('Say hello in three words.')] })).toMatchObject({
      previous_response_id: null,
    });
  });

  test('answers one request after the other on one connection', async () => {
    const first = await respond({ input: 'Say: first' });
    const second = await respond({ input: 'Say: second' });
    expect(second.id).not.toBe(first.id);
    expect(JSON.stringify(first.output)).toContain('Say: first');
    expect(JSON.stringify(second.output)).toContain('Say: second');
    expect(second.previous_response_id).toBeNull();
  });

  test('continues what it answered on the connection', async () => {
    const first = await respond({ input: 'The code word is ember. Say OK.' });
    const second = await respond({ input: 'What is the code word?', previous_response_id: first.id });
    expect(second.previous_response_id).toBe(first.id);
    expect(gateway.simulator.requests.at(-1)?.text()).toContain('The code word is ember.');
  });

  test('has forgotten it on the next connection, where a new conversation begins', async () => {
    const { id } = await respond({ input: 'The code word is ember. Say OK.' });
    socket[Symbol.dispose]();
    using next = await connect();
    const { status, error } = await refuse({ input: 'Go on.', previous_response_id: id }, next);
    expect([status, error.code]).toEqual([400, 'previous_response_not_found']);
    await respond({ input: [user('The chain is lost. Begin again.')] }, next);
  });

  test('says that a previous response is not there', async () => {
    const previousId = 'resp_of_nobody_0123456789';
    const { status, error } = await refuse({ input: 'Go on.', previous_response_id: previousId });
    expect([status, error.code, error.param]).toEqual([
      400,
      'previous_response_not_found',
      'previous_response_id',
    ]);
  });

  test('forgets a response whose continuation failed', async () => {
    const { id } = await respond({ input: 'The code word is ember. Say OK.' });
    const orphan = {
      type: 'function_call_output',
      call_id: 'call_of_nobody',
      output: 'No call requested it.',
    };
    const failed = await refuse({ input: [orphan], previous_response_id: id });
    expect(failed).toMatchObject({ status: 400, error: { type: 'invalid_request_error', param: 'input' } });
    const { error } = await refuse({ input: 'Go on.', previous_response_id: id });
    expect(error.code).toBe('previous_response_not_found');
    await respond({ input: 'Begin again.' });
  });

  test('begins a new chain from what a conversation was compacted to', async () => {
    const window = await compact(gateway, model, [
      user('My name is Alma.'),
      { type: 'message', role: 'assistant', content: 'Hello Alma!' },
      user('Remember it.'),
    ]);
    expect(window.at(-1)?.type).toBe('compaction');
    const first = await respond({ input: [...window, user('What is my name?')] });
    expect(first.previous_response_id).toBeNull();
    const second = await respond({ input: 'Say it again.', previous_response_id: first.id });
    expect(second.previous_response_id).toBe(first.id);
    expect(gateway.simulator.requests.at(-1)?.text()).toContain('My name is Alma.');
  });
});
