import { afterAll, beforeAll, expect, test } from 'vitest';
import { PLAIN, type Stack, startStack } from '../testing/start-stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ configuration: PLAIN, maxBodyBytes: 10_000 });
});
afterAll(() => stack[Symbol.asyncDispose]());

type Change = Record<string, unknown>;

const RESPONSE = { model: 'gpt-5.2', input: 'hi' };
const MESSAGE = { model: 'claude-sonnet-5-5', max_tokens: 2000, messages: [{ role: 'user', content: 'hi' }] };

const ROLES = "'user', 'assistant', 'system', and 'developer'";
const EFFORTS = "'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'";

test.for<[change: Change, code: string, param: string, message: string]>([
  [{ model: undefined }, 'missing_required_parameter', 'model', "Missing required parameter: 'model'."],
  [
    { model: 5 },
    'invalid_type',
    'model',
    "Invalid type for 'model': expected a string, but got an integer instead.",
  ],
  [{ input: undefined }, 'missing_required_parameter', 'input', "Missing required parameter: 'input'."],
  [{ input: null }, 'missing_required_parameter', 'input', "Missing required parameter: 'input'."],
  [{ input: [] }, 'missing_required_parameter', 'input', "Missing required parameter: 'input'."],
  [
    { input: ['x'] },
    'invalid_type',
    'input[0]',
    "Invalid type for 'input[0]': expected an object, but got a string instead.",
  ],
  [
    { input: [{ role: 'robot', content: 'x' }] },
    'invalid_value',
    'input[0].role',
    `Invalid value: 'robot'. Supported values are: ${ROLES}.`,
  ],
  [
    { input: [{ role: 'user' }] },
    'missing_required_parameter',
    'input[0].content',
    "Missing required parameter: 'input[0].content'.",
  ],
  [
    { input: [{ role: 'user', content: [{ text: 'x' }] }] },
    'missing_required_parameter',
    'input[0].content[0].type',
    "Missing required parameter: 'input[0].content[0].type'.",
  ],
  [
    { instructions: 5 },
    'invalid_type',
    'instructions',
    "Invalid type for 'instructions': expected a string, but got an integer instead.",
  ],
  [
    { temperature: 2.1 },
    'decimal_above_max_value',
    'temperature',
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.1 instead.",
  ],
  [
    { temperature: -1 },
    'decimal_below_min_value',
    'temperature',
    "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead.",
  ],
  [
    { temperature: 'hot' },
    'invalid_type',
    'temperature',
    "Invalid type for 'temperature': expected a decimal, but got a string instead.",
  ],
  [
    { top_p: 1.5 },
    'decimal_above_max_value',
    'top_p',
    "Invalid 'top_p': decimal above maximum value. Expected a value <= 1, but got 1.5 instead.",
  ],
  [
    { max_output_tokens: 0 },
    'integer_below_min_value',
    'max_output_tokens',
    "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
  ],
  [
    { max_output_tokens: 1.5 },
    'invalid_type',
    'max_output_tokens',
    "Invalid type for 'max_output_tokens': expected an integer, but got a decimal instead.",
  ],
  [
    { max_output_tokens: '5' },
    'invalid_type',
    'max_output_tokens',
    "Invalid type for 'max_output_tokens': expected an integer, but got a string instead.",
  ],
  [
    { stream: 'yes' },
    'invalid_type',
    'stream',
    "Invalid type for 'stream': expected a boolean, but got a string instead.",
  ],
  [
    { previous_response_id: 5 },
    'invalid_type',
    'previous_response_id',
    "Invalid type for 'previous_response_id': expected a string, but got an integer instead.",
  ],
  [
    { tools: {} },
    'invalid_type',
    'tools',
    "Invalid type for 'tools': expected an array, but got an object instead.",
  ],
  [
    { tools: [{}] },
    'missing_required_parameter',
    'tools[0].type',
    "Missing required parameter: 'tools[0].type'.",
  ],
  [
    { tools: [{ type: 'function', function: { name: 'f' } }] },
    'missing_required_parameter',
    'tools[0].name',
    "Missing required parameter: 'tools[0].name'.",
  ],
  [
    { tools: [{ type: 'file_search' }] },
    'missing_required_parameter',
    'tools[0].vector_store_ids',
    "Missing required parameter: 'tools[0].vector_store_ids'.",
  ],
  [
    { tools: [{ type: 'file_search', vector_store_ids: [] }] },
    'array_below_min_length',
    'tools[0].vector_store_ids',
    "Invalid 'tools[0].vector_store_ids': array too short. Expected an array with minimum length 1, but got an array with length 0 instead.",
  ],
  [
    { tool_choice: 'sometimes' },
    'invalid_value',
    'tool_choice',
    "Invalid value: 'sometimes'. Supported values are: 'none', 'auto', and 'required'.",
  ],
  [
    { tool_choice: {} },
    'missing_required_parameter',
    'tool_choice.type',
    "Missing required parameter: 'tool_choice.type'.",
  ],
  [
    { tool_choice: { type: 'function' } },
    'missing_required_parameter',
    'tool_choice.name',
    "Missing required parameter: 'tool_choice.name'.",
  ],
  [
    { reasoning: { effort: 'huge' } },
    'invalid_value',
    'reasoning.effort',
    `Invalid value: 'huge'. Supported values are: ${EFFORTS}.`,
  ],
  [
    { reasoning: 'high' },
    'invalid_type',
    'reasoning',
    "Invalid type for 'reasoning': expected an object, but got a string instead.",
  ],
])('a response with %j is refused with %s', async ([change, code, param, message]) => {
  const reply = await stack.text.fetch('/v1/responses', { body: { ...RESPONSE, ...change } });
  expect(reply.status).toBe(400);
  expect(reply.headers.get('x-should-retry')).toBe('false');
  expect(await reply.json()).toEqual({ error: { message, type: 'invalid_request_error', param, code } });
});

test.for<[change: Change, message: string]>([
  [{ model: undefined }, 'model: Field required'],
  [{ max_tokens: undefined }, 'max_tokens: Field required'],
  [{ max_tokens: '5' }, 'max_tokens: Input should be a valid integer'],
  [{ max_tokens: 1.5 }, 'max_tokens: Input should be a valid integer'],
  [{ max_tokens: -1 }, 'max_tokens: Input should be greater than or equal to 0'],
  [{ messages: undefined }, 'messages: Field required'],
  [{ messages: 'hi' }, 'messages: Input should be a valid list'],
  [{ messages: [] }, 'messages: at least one message is required'],
  [{ messages: [{ role: 'assistant', content: 'x' }] }, 'messages: first message must use the "user" role'],
  [
    { messages: [{ role: 'robot', content: 'x' }] },
    "messages.0.role: Input should be 'user', 'assistant' or 'system'",
  ],
  [{ messages: [{ role: 'user' }] }, 'messages.0.content: Field required'],
  [{ messages: [{ role: 'user', content: [{ text: 'x' }] }] }, 'messages.0.content.0.type: Field required'],
  [{ system: 5 }, 'system: Input should be a valid string'],
  [{ temperature: 1.1 }, 'temperature: Input should be less than or equal to 1'],
  [{ temperature: -0.1 }, 'temperature: Input should be greater than or equal to 0'],
  [{ temperature: 'hot' }, 'temperature: Input should be a valid number'],
  [{ top_p: 2 }, 'top_p: Input should be less than or equal to 1'],
  [{ stream: 1 }, 'stream: Input should be a valid boolean'],
  [{ tools: {} }, 'tools: Input should be a valid list'],
  [{ tool_choice: 'auto' }, 'tool_choice: Input should be an object'],
  [
    { tool_choice: { type: 'required' } },
    "tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'",
  ],
  [{ tool_choice: { type: 'tool' } }, 'tool_choice.name: Field required'],
  [{ thinking: { type: 'enabled' } }, 'thinking.enabled.budget_tokens: Field required'],
  [
    { thinking: { type: 'enabled', budget_tokens: '1' } },
    'thinking.enabled.budget_tokens: Input should be a valid integer',
  ],
  [
    { thinking: { type: 'enabled', budget_tokens: 1023 } },
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
  ],
  [
    { thinking: { type: 'enabled', budget_tokens: 2000 } },
    '`max_tokens` must be greater than `thinking.budget_tokens`.',
  ],
  [
    { thinking: { type: 'on' } },
    "thinking.type: Input should be 'enabled', 'disabled', 'adaptive' or 'between_tools'",
  ],
])('a message with %j is refused: %s', async ([change, message]) => {
  const reply = await stack.text.fetch('/v1/messages', { body: { ...MESSAGE, ...change } });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toEqual({
    type: 'error',
    error: { type: 'invalid_request_error', message },
    request_id: reply.headers.get('request-id'),
  });
});

test.for([
  ['temperature', 0],
  ['temperature', 2],
  ['max_output_tokens', 16],
  ['top_p', 1],
  ['tool_choice', 'auto'],
  ['tool_choice', { type: 'allowed_tools', mode: 'auto', tools: [] }],
  ['tools', [{ type: 'file_search', vector_store_ids: ['vs_1'] }, { type: 'web_search_preview' }]],
  ['reasoning', { effort: 'xhigh' }],
  ['input', [{ type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'x' }] }]],
  ['input', [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }] }]],
  [
    'input',
    [
      { role: 'user', content: 'x' },
      { type: 'something_new', content: { any: 'form' } },
    ],
  ],
  ['prompt', { id: 'pmpt_1' }],
  ['nobody_knows_this', { deep: [1, 2] }],
] as const)('a response with %s %j is accepted', async ([name, value]) => {
  const reply = await stack.text.fetch('/v1/responses', { body: { ...RESPONSE, [name]: value } });
  expect(await reply.text()).not.toContain('"code":"');
  expect(reply.status).toBe(200);
});

test.for([
  'temperature',
  'top_p',
  'instructions',
  'max_output_tokens',
  'stream',
  'tools',
  'tool_choice',
  'reasoning',
  'store',
  'previous_response_id',
])('on responses %s may be null, which means absent', async (name) => {
  const reply = await stack.text.fetch('/v1/responses', { body: { ...RESPONSE, [name]: null } });
  expect(reply.status).toBe(200);
});

test("a minimum of the upstream's own is the upstream's to enforce", async () => {
  const reply = await stack.text.fetch('/v1/responses', { body: { ...RESPONSE, max_output_tokens: 1 } });
  expect(reply.status).toBe(400);
  expect(reply.headers.get('x-gateway-refused-by')).toBe('upstream');
  expect(await reply.json()).toMatchObject({ error: { code: 'integer_below_min_value' } });
});

test.for([
  ['thinking', { type: 'enabled', budget_tokens: 1024 }],
  ['thinking', { type: 'adaptive', display: 'omitted' }],
  ['thinking', { type: 'between_tools' }],
  ['system', [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }]],
  ['temperature', 1],
  [
    'tools',
    [
      { name: 'f', input_schema: { type: 'object' } },
      { type: 'bash_20250124', name: 'bash' },
    ],
  ],
  [
    'messages',
    [
      { role: 'user', content: 'a' },
      { role: 'user', content: [{ type: 'text', text: 'b' }] },
    ],
  ],
  ['nobody_knows_this', { deep: [1, 2] }],
] as const)('a message with %s %j is accepted', async ([name, value]) => {
  const reply = await stack.text.fetch('/v1/messages', { body: { ...MESSAGE, [name]: value } });
  expect(await reply.text()).not.toContain('"error"');
  expect(reply.status).toBe(200);
});

test.for([
  ['{"model":', 400, null],
  ['', 400, 'missing_required_parameter'],
  ['[]', 400, 'invalid_type'],
  ['"text"', 400, 'invalid_type'],
  [new Uint8Array([0x22, 0xff, 0x22]), 400, null],
  [JSON.stringify({ ...RESPONSE, input: 'x'.repeat(10_000) }), 413, 'request_too_large'],
] as const)(
  'a body that is not a JSON object of bearable size is refused (%#)',
  async ([body, status, code]) => {
    const reply = await stack.text.fetch('/v1/responses', { method: 'POST', body });
    expect(reply.status).toBe(status);
    expect(await reply.json()).toMatchObject({ error: { type: 'invalid_request_error', code } });
  },
);

test('another content type is refused', async () => {
  const reply = await stack.text.fetch('/v1/responses', {
    body: 'x=1',
    headers: { 'content-type': 'text/plain' },
  });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { code: 'unsupported_content_type' } });
});

test('counting tokens needs no max_tokens and checks the rest', async () => {
  const { max_tokens: _, ...body } = MESSAGE;
  const counted = await stack.text.fetch('/v1/messages/count_tokens?beta=true', { body });
  expect(await counted.json()).toEqual({ input_tokens: expect.any(Number) });
  expect((await stack.first.nextRequest(({ path }) => path.endsWith('count_tokens'))).url).toBe(
    '/v1/messages/count_tokens?beta=true',
  );
  const refused = await stack.text.fetch('/v1/messages/count_tokens', { body: { ...body, messages: [] } });
  expect(refused.status).toBe(400);
});

test('a request that names no version is of the first one', async () => {
  stack.first.reset();
  const reply = await stack.text.fetch('/v1/messages', { body: MESSAGE });
  expect(reply.status).toBe(200);
  expect((await stack.first.nextRequest()).headers['anthropic-version']).toBe('2023-06-01');
});
