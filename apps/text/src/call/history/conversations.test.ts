import { collectSse } from '@gateway/testkit/collect-sse';
import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { expect, test } from 'vitest';
import { MODELS, useConversations } from '../../testing/use-conversations.ts';

/** Conversations that go on by the ids of earlier responses, on channels of all protocols. */

const stage = useConversations();
const { configuration, create, get, reached, send, simulatorOf } = stage;

test.for(MODELS)(
  '%s: ten turns go on by their ids, on alternating replicas, streamed or not',
  async (model) => {
    let previous: unknown = null;
    for (let turn = 0; turn < 10; turn += 1) {
      const body = {
        model,
        input: `turn ${turn}`,
        ...(turn > 0 && { previous_response_id: previous }),
      };
      const text = stage.texts[turn % 2];
      if (turn % 3 === 2) {
        const events = await collectSse(await send({ ...body, stream: true }, { ...(text && { text }) }));
        const last = events.findLast(({ event }) => event === 'response.completed');
        previous = Object(last?.json).response.id;
      } else {
        const made = await create(body, { ...(text && { text }) });
        expect(made).toMatchObject({ store: true, previous_response_id: previous });
        previous = made.id;
      }
    }
    const list = await stage.texts[1].fetch(`/v1/responses/${previous}/input_items`);
    expect(await list.json()).toMatchObject({ data: [{ role: 'user', content: [{ text: 'turn 9' }] }] });
    if (model === 'responses') return;
    const conversation = await reached(stage.second);
    expect(conversation).toHaveLength(19);
    expect(conversation[0]).toBe('user: turn 0');
    expect(conversation[18]).toBe('user: turn 9');
  },
);

test('a provider that has the conversation is sent the id alone, and nothing else', async () => {
  const { id } = await create({ model: 'responses', input: 'one' });
  await create({ model: 'responses', input: 'two', previous_response_id: id });
  expect(JSON.parse(String(stage.first.requests.at(-1)?.body))).toEqual({
    model: 'responses',
    input: 'two',
    previous_response_id: id,
  });
});

test.for(
  MODELS.flatMap((from) =>
    ([...MODELS, 'other'] as const).filter((to) => to !== from).map((to) => [from, to] as const),
  ),
)('a conversation begun on %s goes on on %s, and back', async ([from, to]) => {
  const begun = await create({ model: from, input: 'my name is Ada' });
  const next = await create({ model: to, input: 'and now?', previous_response_id: begun.id });
  expect(next.previous_response_id).toBe(begun.id);
  const [question, answer, last] = await reached(simulatorOf(to));
  expect(question).toBe('user: my name is Ada');
  expect(answer).toMatch(/^assistant: /);
  expect(last).toBe('user: and now?');
  const back = await create(
    { model: from, input: 'back', previous_response_id: next.id },
    { text: stage.texts[1] },
  );
  expect(back.previous_response_id).toBe(next.id);
  expect(await reached(simulatorOf(from))).toHaveLength(5);
  expect(await (await get(back.id, stage.texts[1])).json()).toEqual(back);
});

test('a stream of another channel shows the response that it continues in every event', async () => {
  const { id } = await create({ model: 'messages' });
  const events = await collectSse(
    await send({ model: 'responses', input: 'and?', previous_response_id: id, stream: true }),
  );
  const shown = events.flatMap(({ json }) => Object(json).response ?? []);
  expect(shown).toHaveLength(3);
  for (const response of shown) expect(response.previous_response_id).toBe(id);
});

test('a conversation goes on where its channel fails, and where it is gone from the configuration', async () => {
  const { id } = await create({ model: 'both', input: 'one' });
  stage.first.script('/v1/responses', { status: 503, json: { error: { message: 'busy' } } });
  const reply = await send({ model: 'both', input: 'two', previous_response_id: id });
  expect(reply.headers.get('x-gateway-channel')).toBe('messages');
  const next = Object(await reply.json());
  const without = configuration().replace(/\{ channel: one, priority: 0 \}, /, '');
  stage.texts[0].upstream.replace(parseConfiguration(without, 'gateway.yaml', {}));
  await create({ model: 'both', input: 'three', previous_response_id: next.id });
  expect(await reached(stage.second)).toHaveLength(5);
  expect((await get(id)).status).toBe(200);
});

test('a provider that has forgotten a response is sent the conversation', async () => {
  const { id } = await create({ model: 'responses', input: 'one' });
  stage.first.reset();
  await create({ model: 'responses', input: 'two', previous_response_id: id });
  expect(await reached(stage.first)).toEqual(['user: one', expect.stringMatching(/^assistant/), 'user: two']);
  expect((await get(id)).status).toBe(200);
  const deleted = await stage.texts[0].fetch(`/v1/responses/${id}`, { method: 'DELETE' });
  expect(await deleted.json()).toEqual({ id, object: 'response', deleted: true });
});

test.for(MODELS)('%s: branches of one response do not see each other', async (model) => {
  const { id } = await create({ model, input: 'root' });
  const branches = await Promise.all(
    ['left', 'right'].map((input, index) => {
      const [text = stage.texts[0]] = stage.texts.slice(index);
      return create({ model, input, previous_response_id: id }, { text });
    }),
  );
  await create({ model: 'chat', input: 'on', previous_response_id: branches[0]?.id });
  const conversation = await reached(stage.second);
  expect(conversation).toContain('user: left');
  expect(conversation).not.toContain('user: right');
});

test.for(MODELS)('%s: tool outputs follow a call by its id', async (model) => {
  const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } }];
  const calling = await create({ model, tools, tool_choice: 'required', input: 'weather?' });
  const call = Object(calling.output).find(({ type }: { type: string }) => type === 'function_call');
  const output = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' };
  const answered = await create({ model, tools, input: [output], previous_response_id: calling.id });
  expect(answered.status).toBe('completed');
  const elsewhere = await create({
    model: 'messages',
    tools,
    input: 'sure?',
    previous_response_id: answered.id,
  });
  expect(elsewhere.status).toBe('completed');
});

test('instructions and tools are not carried over', async () => {
  const { id } = await create({ model: 'messages', instructions: 'Speak French.', input: 'one' });
  const next = await create({ model: 'messages', input: 'two', previous_response_id: id });
  expect(next.instructions).toBeNull();
  expect(Object(JSON.parse(String(stage.second.requests.at(-1)?.body))).system).toBeUndefined();
});

test('a picture is kept outside of Redis, and sent again', async () => {
  const image_url = `data:image/png;base64,${'A'.repeat(40_000)}`;
  const content = [
    { type: 'input_text', text: 'what is it?' },
    { type: 'input_image', image_url },
  ];
  const { id } = await create({ model: 'chat', input: [{ role: 'user', content }] });
  const sizes = await Promise.all(
    (await stage.redis.keys('gateway:store:*')).map((key) => stage.redis.memory('USAGE', key)),
  );
  expect(Math.max(...sizes.map(Number))).toBeLessThan(20_000);
  await create({ model: 'chat', input: 'sure?', previous_response_id: id }, { text: stage.texts[1] });
  expect(String(stage.second.requests.at(-1)?.body)).toContain(image_url);
  await create({ model: 'responses', input: 'sure?', previous_response_id: id });
  expect(String(stage.first.requests.at(-1)?.body)).toContain(image_url);
});

test.for(MODELS)('%s: items are referred to by their ids, the input’s own too', async (model) => {
  const made = await create({ model, input: 'one' });
  const list = Object(await (await stage.texts[0].fetch(`/v1/responses/${made.id}/input_items`)).json());
  const input = [
    { type: 'item_reference', id: list.data[0].id },
    { type: 'item_reference', id: Object(made.output)[0].id },
    { role: 'user', content: 'two' },
  ];
  const expected = ['user: one', expect.stringMatching(/^assistant: /), 'user: two'];
  await create({ model: 'messages', input }, { text: stage.texts[1] });
  expect(await reached(stage.second)).toEqual(expected);
  const next = await create({ model: 'other', input });
  expect(await reached(stage.second)).toEqual(expected);
  const items = Object(
    await (await stage.texts[0].fetch(`/v1/responses/${next.id}/input_items?order=asc`)).json(),
  );
  expect(items.data.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'user']);
});

test('a restart of everything but Redis and the files forgets nothing', async () => {
  const { id } = await create({ model: 'chat', input: `a ${'long '.repeat(4000)} story` });
  const text = await stage.start();
  await create({ model: 'chat', input: 'go on', previous_response_id: id }, { text });
  expect(await reached(stage.second)).toHaveLength(3);
});

test.for(MODELS)('%s: the whole conversation is counted', async (model) => {
  const { id } = await create({ model, input: 'one two three four five six seven eight nine ten' });
  const count = async (body: object) => {
    const reply = await send({ model, input: 'hi', ...body }, { path: '/v1/responses/input_tokens' });
    return Object(await reply.json()).input_tokens;
  };
  expect(await count({ previous_response_id: id })).toBeGreaterThan((await count({})) + 8);
});

test('sealed reasoning returns to its maker, and is left out and named elsewhere', async () => {
  const reasoning = { reasoning: { effort: 'low' }, include: ['reasoning.encrypted_content'] };
  const made = await create({ model: 'responses', input: 'one', ...reasoning });
  const [thought] = Object(made.output);
  expect(thought).toMatchObject({ type: 'reasoning', encrypted_content: expect.any(String) });
  for (const model of ['other', 'messages', 'chat']) {
    const reply = await send({ model, input: 'two', previous_response_id: made.id });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-gateway-dropped')).toContain('input[1]');
    expect(String(stage.second.requests.at(-1)?.body)).not.toContain(thought.encrypted_content);
    const next = Object(await reply.json());
    await create({ model: 'responses', input: 'three', previous_response_id: next.id });
    expect(String(stage.first.requests.at(-1)?.body)).toContain(thought.encrypted_content);
  }
});
