import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type Simulator, startSimulator } from '../start-simulator.ts';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());

const PARAMETERS = {
  type: 'object',
  properties: { location: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] } },
  required: ['location', 'unit'],
  additionalProperties: false,
};
const DESCRIPTION = 'Get the current weather for a location';
const named = { name: 'get_weather', description: DESCRIPTION };
const ARGUMENTS = { location: 'example location', unit: 'celsius' };
const TEXT = "What's the weather like in San Francisco?";
const SCHEMA = {
  type: 'object',
  properties: { answers: { type: 'array', minItems: 2, items: { type: 'integer', minimum: 3 } } },
  required: ['answers'],
};

const Bodies = {
  responses: z.looseObject({
    output: z.array(
      z.looseObject({ type: z.string(), content: z.array(z.looseObject({ text: z.string() })).optional() }),
    ),
  }),
  chat: z.looseObject({
    choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string().nullable() }) })),
  }),
  messages: z.looseObject({
    content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
  }),
};

async function post<Schema extends z.ZodType>(schema: Schema, path: string, body: object) {
  const response = await fetch(`${simulator.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer k',
      'x-api-key': 'k',
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: 'a-model', ...body }),
  });
  expect(response.status).toBe(200);
  return schema.parse(await response.json());
}
const responses = (body: object) => post(Bodies.responses, '/v1/responses', body);
const chat = (body: object) => post(Bodies.chat, '/v1/chat/completions', body);
const messages = (body: object) => post(Bodies.messages, '/v1/messages', { max_tokens: 500, ...body });
const prompt = (content: string) => [{ role: 'user', content }];

test('an offered tool is called if the prompt is about it, in each protocol', async () => {
  const tools = [{ type: 'function', ...named, parameters: PARAMETERS }];
  const [item] = (await responses({ input: TEXT, tools })).output;
  expect(item).toMatchObject({
    type: 'function_call',
    name: 'get_weather',
    arguments: JSON.stringify(ARGUMENTS),
  });
  const functions = [{ type: 'function', function: { ...named, parameters: PARAMETERS } }];
  expect(await chat({ messages: prompt(TEXT), tools: functions })).toMatchObject({
    choices: [
      { finish_reason: 'tool_calls', message: { tool_calls: [{ function: { name: 'get_weather' } }] } },
    ],
  });
  const inputs = [{ ...named, input_schema: PARAMETERS }];
  expect(await messages({ messages: prompt(TEXT), tools: inputs })).toMatchObject({
    stop_reason: 'tool_use',
    content: [{ type: 'tool_use', name: 'get_weather', input: ARGUMENTS }],
  });
});

test('a prompt about something else, a forbidden call and a directive get no call', async () => {
  const tools = [{ type: 'function', ...named, parameters: PARAMETERS }];
  for (const request of [
    { input: 'Hello, how are you?' },
    { input: TEXT, tool_choice: 'none' },
    { input: `${TEXT} [[simulate tokens=3]]` },
  ]) {
    const { output } = await responses({ tools, ...request });
    expect(output.map(({ type }) => type)).toEqual(['message']);
  }
});

test('the answer fits the requested schema, in each protocol, with and without tools', async () => {
  const expected = { answers: [3, 3] };
  const json_schema = { name: 'answers', schema: SCHEMA };
  const tools = [{ type: 'function', ...named, parameters: PARAMETERS }];
  for (const further of [{}, { tools }]) {
    const text = { format: { type: 'json_schema', ...json_schema } };
    const { output } = await responses({ input: TEXT, text, ...further });
    expect(JSON.parse(output[0]?.content?.[0]?.text ?? '')).toEqual(expected);
  }
  const completion = await chat({
    messages: prompt(TEXT),
    response_format: { type: 'json_schema', json_schema },
  });
  expect(JSON.parse(completion.choices[0]?.message.content ?? '')).toEqual(expected);
  const format = { type: 'json_schema', schema: SCHEMA };
  for (const where of [{ output_config: { format } }, { output_format: format }]) {
    const { content } = await messages({ messages: prompt(TEXT), ...where });
    expect(JSON.parse(content[0]?.text ?? '')).toEqual(expected);
  }
});
