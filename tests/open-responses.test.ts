import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  Answer,
  checkedEvents,
  compact,
  MODELS,
  PublishedResponse,
  startWithModels,
  user,
} from './support/open-responses.ts';
import type { Gateway } from './support/start-gateway.ts';

/**
 * What the public Open Responses checks ask of a server, for a model whose channel speaks Responses and for two that are
 * translated: each answer, and each event of a stream, is held against the published schemas.
 */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startWithModels();
});
afterAll(() => gateway?.close());

type Body = { readonly [member: string]: unknown };

async function respond(body: Body) {
  const reply = await gateway.fetch('/v1/responses', { json: body });
  const response: unknown = await reply.json();
  expect(reply.status, JSON.stringify(response)).toBe(200);
  expect(PublishedResponse.safeParse(response).error).toBeUndefined();
  return Answer.parse(response);
}

async function stream(body: Body) {
  const reply = await gateway.fetch('/v1/responses', { json: { ...body, stream: true } });
  expect(reply.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const frames = (await reply.text()).split('\n\n').filter((frame) => frame.startsWith('event: '));
  const sent = frames.map((frame) => {
    const [name = '', data = ''] = frame.split('\n');
    const event = JSON.parse(data.replace('data: ', ''));
    expect(name).toBe(`event: ${event.type}`);
    return event;
  });
  return checkedEvents(sent);
}

const WEATHER = {
  input: [user('How is the weather in Lisbon?')],
  tools: [
    {
      type: 'function',
      name: 'get_weather',
      description: 'The weather of a city at this moment',
      parameters: {
        type: 'object',
        properties: { city: { type: 'string', description: 'Its name in English' } },
        required: ['city'],
      },
    },
  ],
};
const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe.for(MODELS)('the model %s', (model) => {
  test('answers a message', async () => {
    expect(await respond({ model, input: [user('Say hello in three words.')] })).toMatchObject({
      status: 'completed',
      output: [{ type: 'message' }],
    });
  });

  test('streams an answer', async () => {
    const { events, response } = await stream({ model, input: [user('Count from 1 to 5.')] });
    expect(events[0]?.type).toBe('response.created');
    expect(events.some(({ type }) => type === 'response.output_text.delta')).toBe(true);
    expect(response.status).toBe('completed');
  });

  test('takes a system message', async () => {
    const input = [{ type: 'message', role: 'system', content: 'Speak as a pirate.' }, user('Say hello.')];
    expect(await respond({ model, input })).toMatchObject({ status: 'completed' });
  });

  test('calls a function', async () => {
    const { output } = await respond({ model, ...WEATHER });
    expect(output.find(({ type }) => type === 'function_call')?.name).toBe('get_weather');
  });

  test('streams the call of a function', async () => {
    const { events, response } = await stream({ model, ...WEATHER });
    const ofCalls = events.filter(
      ({ type, item }) => item?.type === 'function_call' || type.includes('arguments'),
    );
    const types = ofCalls.map(({ type }) => type);
    expect(new Set(types)).toEqual(
      new Set([
        'response.output_item.added',
        'response.function_call_arguments.delta',
        'response.function_call_arguments.done',
        'response.output_item.done',
      ]),
    );
    expect(response.output.some(({ type }) => type === 'function_call')).toBe(true);
  });

  test('takes an image', async () => {
    const content = [
      { type: 'input_text', text: 'What is in this picture?' },
      { type: 'input_image', image_url: PNG },
    ];
    expect(await respond({ model, input: [user(content)] })).toMatchObject({ status: 'completed' });
  });

  test('takes a conversation that the caller holds', async () => {
    const input = [
      user('My name is Alma.'),
      { type: 'message', role: 'assistant', content: 'Hello Alma!' },
      user('What is my name?'),
    ];
    expect(await respond({ model, input })).toMatchObject({ status: 'completed' });
  });

  test('accepts the phases of its earlier messages, and gives its own', async () => {
    const input = [
      user('Look it up, please.'),
      { type: 'message', role: 'assistant', content: 'I look it up.', phase: 'commentary' },
      { type: 'message', role: 'assistant', content: 'It is 42.', phase: 'final_answer' },
      user('Say it again.'),
    ];
    const { output } = await respond({ model, input });
    for (const { phase = 'final_answer' } of output) expect(phase).toMatch(/^(commentary|final_answer)$/);
  });

  test('compacts a conversation, and continues from what is left of it', async () => {
    const input = [
      user('My name is Alma.'),
      { type: 'message', role: 'assistant', content: 'Hello Alma!' },
      user('Remember it.'),
    ];
    const output = await compact(gateway, model, input);
    expect(output.map(({ type }) => type)).toEqual(['message', 'message', 'compaction']);
    const next = await respond({ model, input: [...output, user('What is my name?')] });
    expect(next).toMatchObject({ status: 'completed', previous_response_id: null });
  });

  test('refuses to compact for no model', async () => {
    const reply = await gateway.fetch('/v1/responses/compact', { json: { input: 'Hello.' } });
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({
      error: { type: 'invalid_request_error', code: 'missing_required_parameter', param: 'model' },
    });
  });

  test('continues a conversation that it holds, with the output of a tool', async () => {
    const called = await respond({ model, ...WEATHER });
    const call = called.output.find(({ type }) => type === 'function_call');
    const result = { type: 'function_call_output', call_id: call?.call_id, output: 'sunny' };
    const answered = await respond({
      model,
      input: [result],
      tools: WEATHER.tools,
      previous_response_id: called.id,
    });
    expect(answered).toMatchObject({ status: 'completed', previous_response_id: called.id });
    const { response } = await stream({ model, input: [user('Thanks.')], previous_response_id: answered.id });
    expect(response.previous_response_id).toBe(answered.id);
  });
});
