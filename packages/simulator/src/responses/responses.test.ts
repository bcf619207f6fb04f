import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { collect } from '../collect.ts';
import { createGate } from '../gate.ts';
import { type Simulator, startSimulator } from '../start-simulator.ts';

const clientOf = ({ baseUrl }: Simulator) =>
  new OpenAI({ baseURL: baseUrl, apiKey: 'sk-test', maxRetries: 0 });

const WEATHER = {
  type: 'function' as const,
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: true,
};

test('the answer echoes the input and counts tokens by the documented rule', async () => {
  await using simulator = await startSimulator();
  const response = await clientOf(simulator).responses.create({ model: 'gpt-5.2', input: 'Hello there' });
  expect(response.output_text).toBe('You said: Hello there');
  expect(response.usage).toMatchObject({ input_tokens: 3, output_tokens: 6, total_tokens: 9 });
  expect(simulator.ledger()['gpt-5.2']).toMatchObject({ requests: 1, inputTokens: 3, outputTokens: 6 });
});

test('the official stream helper accepts reasoning, parallel calls, searches, refusals and cut answers', async () => {
  await using simulator = await startSimulator();
  const client = clientOf(simulator);
  const finals = async (request: object) => {
    const stream = client.responses.stream({ model: 'gpt-5.2', input: 'Hi', ...request });
    return stream.finalResponse();
  };
  const reasoned = await finals({ reasoning: { effort: 'low', summary: 'auto' } });
  expect(reasoned.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);

  const called = await finals({ input: 'use tool get_weather twice', tools: [WEATHER] });
  expect(called.output).toMatchObject([
    { type: 'function_call', name: 'get_weather', arguments: '{"city":"example city"}' },
    { type: 'function_call', name: 'get_weather' },
  ]);

  const custom = await finals({
    input: 'use tool apply_patch',
    tools: [{ type: 'custom', name: 'apply_patch' }],
  });
  expect(custom.output[0]).toMatchObject({
    type: 'custom_tool_call',
    input: 'example input for apply_patch',
  });

  const searched = await finals({ input: 'search the web', tools: [{ type: 'web_search_preview' }] });
  expect(searched.output.map(({ type }) => type)).toEqual(['web_search_call', 'message']);

  const found = await finals({
    input: 'search the files',
    tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }],
    include: ['file_search_call.results'],
  });
  expect(found.output[0]).toMatchObject({ type: 'file_search_call', results: [{ attributes: {} }] });

  const refused = await finals({ input: '[[simulate refusal]]' });
  expect(refused.output[0]).toMatchObject({ content: [{ type: 'refusal' }] });

  const cut = await finals({ input: '[[simulate tokens=40]]', max_output_tokens: 16 });
  expect(cut).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
  expect(cut.usage?.output_tokens).toBe(16);
});

test('events are numbered without gaps, end with one terminal event, and their deltas make up the text', async () => {
  await using simulator = await startSimulator();
  const stream = await clientOf(simulator).responses.create({
    model: 'm',
    input: 'one two three',
    stream: true,
  });
  const events = await collect(stream);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  const text = events
    .map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''))
    .join('');
  expect(text).toBe('You said: one two three');
  expect(events.at(-1)?.type).toBe('response.completed');
});

test('structured output is an instance of the schema', async () => {
  await using simulator = await startSimulator();
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      kind: { enum: ['cat', 'dog'] },
      ages: { type: 'array', items: { type: 'integer', minimum: 3 }, minItems: 2 },
      owner: { $ref: '#/$defs/owner' },
    },
    required: ['name', 'kind', 'ages', 'owner'],
    $defs: {
      owner: {
        type: 'object',
        properties: { mail: { type: 'string', format: 'email' } },
        required: ['mail'],
      },
    },
  };
  const response = await clientOf(simulator).responses.create({
    model: 'm',
    input: 'Hi',
    text: { format: { type: 'json_schema', name: 'pet', schema } },
  });
  expect(JSON.parse(response.output_text)).toEqual({
    name: 'example name',
    kind: 'cat',
    ages: [3, 3],
    owner: { mail: 'somebody@example.org' },
  });
});

test('a conversation continues through previous_response_id, item references and tool results', async () => {
  await using simulator = await startSimulator();
  const client = clientOf(simulator);
  const first = await client.responses.create({
    model: 'm',
    input: 'use tool get_weather',
    tools: [WEATHER],
  });
  const call = first.output.find((item) => item.type === 'function_call');
  const output = { type: 'function_call_output' as const, call_id: call?.call_id ?? '', output: '18 C' };
  const second = await client.responses.create({
    model: 'm',
    previous_response_id: first.id,
    input: [output],
  });
  expect(second.output_text).toBe('The tool answered: 18 C');
  expect(second.usage?.input_tokens).toBeGreaterThan(first.usage?.input_tokens ?? 0);

  const [message] = second.output;
  const reference = { type: 'item_reference' as const, id: message?.id ?? '' };
  const third = await client.responses.create({
    model: 'm',
    input: [reference, { role: 'user', content: 'Thanks' }],
  });
  expect(third.output_text).toBe('You said: Thanks');

  const refusal = async (request: OpenAI.Responses.ResponseCreateParamsNonStreaming) =>
    client.responses.create(request).catch((error: unknown) => error);
  expect(await refusal({ model: 'm', input: [output] })).toMatchObject({ status: 400, param: 'input' });
  expect(await refusal({ model: 'm', previous_response_id: first.id, input: 'no result' })).toMatchObject({
    status: 400,
    message: expect.stringContaining('No tool output found'),
  });
  expect(await refusal({ model: 'm', previous_response_id: 'resp_x', input: 'Hi' })).toMatchObject({
    status: 400,
    code: 'previous_response_not_found',
  });
  expect(await refusal({ model: 'm', input: [{ type: 'item_reference', id: 'msg_x' }] })).toMatchObject({
    status: 404,
  });
});

test('a conversation comes before the input and grows by each response', async () => {
  await using simulator = await startSimulator();
  const client = clientOf(simulator);
  const { id } = await client.conversations.create({ items: [{ role: 'user', content: 'Long ago' }] });
  expect(await client.conversations.retrieve(id)).toMatchObject({ id, object: 'conversation', metadata: {} });
  const respond = (conversation: string | { id: string }) =>
    client.responses.create({ model: 'm', input: 'Hello', conversation });
  const first = await respond(id);
  expect(first.conversation).toEqual({ id });
  const second = await respond({ id });
  expect(second.usage?.input_tokens).toBeGreaterThan(first.usage?.input_tokens ?? 0);
  const counted = await client.responses.inputTokens.count({ model: 'm', input: 'Hello', conversation: id });
  expect(counted.input_tokens).toBeGreaterThan(second.usage?.input_tokens ?? 0);
  expect(await respond('conv_x').catch((error: unknown) => error)).toMatchObject({
    status: 404,
    param: 'conversation',
  });
});

test('stored responses are read, replayed, listed and deleted; store:false keeps nothing', async () => {
  await using simulator = await startSimulator();
  const client = clientOf(simulator);
  const stored = await client.responses.create({ model: 'm', input: 'Hi' });
  expect(await client.responses.retrieve(stored.id)).toMatchObject({ id: stored.id, status: 'completed' });
  const replayed = await client.responses.stream({ response_id: stored.id }).finalResponse();
  expect(replayed.output).toMatchObject(stored.output);
  const tail = await client.responses.retrieve(stored.id, { stream: true, starting_after: 5 });
  expect((await collect(tail))[0]?.sequence_number).toBe(6);
  const items = await client.responses.inputItems.list(stored.id);
  expect(items.data).toMatchObject([{ type: 'message', role: 'user', id: expect.stringMatching(/^msg_/) }]);
  await client.responses.delete(stored.id);
  await expect(client.responses.retrieve(stored.id)).rejects.toMatchObject({ status: 404 });

  const unstored = await client.responses.create({ model: 'm', input: 'Hi', store: false });
  await expect(client.responses.retrieve(unstored.id)).rejects.toMatchObject({ status: 404 });
});

test('a background response is queued, then completes when its gate opens; another one is cancelled', async () => {
  await using simulator = await startSimulator();
  const client = clientOf(simulator);
  const gate = createGate();
  simulator.script('/v1/responses', { resume: gate.opened });
  const queued = await client.responses.create({ model: 'm', input: 'Hi', background: true });
  expect(queued.status).toBe('queued');
  gate.open();
  const finished = await client.responses.stream({ response_id: queued.id }).finalResponse();
  expect(finished.status).toBe('completed');
  expect(simulator.ledger().m).toMatchObject({ requests: 1 });

  simulator.script('/v1/responses', { resume: createGate().opened });
  const other = await client.responses.create({ model: 'm', input: 'Hi', background: true });
  expect(await client.responses.cancel(other.id)).toMatchObject({ status: 'cancelled' });
  expect(await client.responses.cancel(other.id)).toMatchObject({ status: 'cancelled' });
  await expect(client.responses.cancel(finished.id)).resolves.toMatchObject({ status: 'completed' });
  const foreground = await client.responses.create({ model: 'm', input: 'Hi' });
  await expect(client.responses.cancel(foreground.id)).rejects.toMatchObject({ status: 400 });
});

test('encrypted reasoning is accepted only by the provider that made it', async () => {
  await using simulator = await startSimulator();
  await using foreign = await startSimulator({ signatureSecret: 'another' });
  const first = await clientOf(simulator).responses.create({
    model: 'm',
    input: 'Hi',
    reasoning: { effort: 'low' },
  });
  const [reasoning] = first.output;
  if (reasoning?.type !== 'reasoning') throw new Error('expected reasoning');
  const request = { model: 'm', input: [reasoning, { role: 'user' as const, content: 'And?' }] };
  await expect(clientOf(simulator).responses.create(request)).resolves.toMatchObject({ status: 'completed' });
  await expect(clientOf(foreign).responses.create(request)).rejects.toMatchObject({
    code: 'invalid_encrypted_content',
  });
});

test.for([
  [{ input: 'Hi' }, 'missing_required_parameter', 'model'],
  [{ model: 'm' }, 'missing_required_parameter', 'input'],
  [{ model: 'm', input: 'Hi', temperature: 3 }, 'decimal_above_max_value', 'temperature'],
  [{ model: 'm', input: 'Hi', temperature: 'warm' }, 'invalid_type', 'temperature'],
  [{ model: 'm', input: 'Hi', max_output_tokens: 1 }, 'integer_below_min_value', 'max_output_tokens'],
  [{ model: 'm', input: 'Hi', reasoning: { effort: 'huge' } }, 'invalid_value', 'reasoning.effort'],
  [
    { model: 'm', input: 'Hi', tools: [{ type: 'function', function: {} }] },
    'missing_required_parameter',
    'tools[0].name',
  ],
  [{ model: 'm', input: 'Hi', background: true, store: false }, 'invalid_value', 'background'],
  [{ model: 'no-such-model', input: 'Hi' }, 'model_not_found', 'model'],
] as const)('%j is refused with %s', async ([body, code, param]) => {
  await using simulator = await startSimulator();
  const response = await fetch(`${simulator.baseUrl}/responses`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', code, param } });
});

test('an unknown member is ignored, or refused by a strict simulator', async () => {
  await using lenient = await startSimulator();
  await using strict = await startSimulator({ refusesUnknown: true });
  const request = { model: 'm', input: 'Hi', surprise: 1 };
  await expect(clientOf(lenient).responses.create(request)).resolves.toMatchObject({ status: 'completed' });
  await expect(clientOf(strict).responses.create(request)).rejects.toMatchObject({
    code: 'unknown_parameter',
  });
});
