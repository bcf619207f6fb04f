import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { aiSdk } from '../testing/clients/ai-sdk.ts';
import { anthropicMessages } from '../testing/clients/anthropic-messages.ts';
import { openaiChat } from '../testing/clients/openai-chat.ts';
import { openaiResponses } from '../testing/clients/openai-responses.ts';
import { LOOP_ANSWER, type TextClient } from '../testing/clients/text-client.ts';
import { type Stack, startStack } from '../testing/start-stack.ts';
import type { TextUnderTest } from '../testing/start-text.ts';
import { PATHS, requestOf, TEXT_PROTOCOLS } from '../testing/text-pairs.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first, second) => `
channels:
  gemini: { provider: gemini, baseUrl: "${first}/v1beta", apiKey: a-key-of-mine, cooldown: off }
  claude: { provider: simulator, baseUrl: "${second}", apiKey: k, speaks: [messages], cooldown: off }
models:
  to-gemini: { kind: text, routes: [{ channel: gemini, model: gemini-3.8-flash }] }
  gemini-first: { kind: text, routes: [{ channel: gemini, model: gemini-3.8-flash, priority: 0 }, { channel: claude, model: claude-sonnet-5, priority: 1 }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const WHOLE = '/v1beta/models/gemini-3.8-flash:generateContent';
const STREAMED = '/v1beta/models/gemini-3.8-flash:streamGenerateContent';
const NO_SIGNATURE = 'skip_thought_signature_validator';

const CLIENTS: Readonly<Record<string, (text: TextUnderTest) => TextClient>> = {
  'openai (responses)': openaiResponses,
  'openai (chat)': openaiChat,
  anthropic: anthropicMessages,
  'ai sdk (responses)': (text) => aiSdk(text, 'responses'),
  'ai sdk (messages)': (text) => aiSdk(text, 'messages'),
};
const CASES = Object.entries(CLIENTS).flatMap(([name, make]) =>
  [false, true].map((stream) => ({ name, make, stream, manner: stream ? 'streamed' : 'whole' })),
);

test.for(CASES)(
  '$name, $manner: a text comes by the path and the key of Gemini',
  async ({ make, stream }) => {
    expect(await make(stack.text).text({ model: 'to-gemini', stream }, 'What is up? 🐳')).toBe(
      'You said: What is up? 🐳',
    );
    const { path, url, headers, body } = await stack.first.nextRequest();
    expect(path).toBe(stream ? STREAMED : WHOLE);
    expect(url.endsWith('?alt=sse')).toBe(stream);
    expect(headers['x-goog-api-key']).toBe('a-key-of-mine');
    expect(headers.authorization).toBeUndefined();
    expect(JSON.parse(body.toString())).not.toHaveProperty('model');
  },
);

test.for(CASES)(
  '$name, $manner: an agent that thinks gives Gemini its signatures back',
  async ({ make, stream }) => {
    const { answer } = await make(stack.text).toolLoop({ model: 'to-gemini', stream, thinking: true });
    expect(answer).toBe(LOOP_ANSWER);
    const sent = stack.first.requests.map((request) => request.text());
    expect(sent).toHaveLength(2);
    expect(sent[1]).toContain('"thoughtSignature"');
    expect(sent[1]).not.toContain(NO_SIGNATURE);
  },
);

// The AI SDK's Messages client has a tool of its own for that.
test.for(CASES.filter(({ name }) => name !== 'ai sdk (messages)'))(
  '$name, $manner: structured output by JSON Schema',
  async ({ make, stream }) => {
    expect(await make(stack.text).structured({ model: 'to-gemini', stream })).toBeTypeOf('object');
    expect((await stack.first.nextRequest()).text()).toContain('"responseJsonSchema"');
  },
);

const Message = z.looseObject({
  content: z.array(z.record(z.string(), z.unknown())),
  stop_reason: z.string(),
});
const TOOL = {
  name: 'get_time',
  description: 'Tells the time',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

const ask = async (messages: readonly object[]) => {
  const reply = await stack.text.fetch('/v1/messages', {
    body: {
      model: 'gemini-first',
      max_tokens: 2000,
      thinking: { type: 'adaptive' },
      output_config: { effort: 'medium' },
      tools: [TOOL],
      messages,
    },
  });
  const body: unknown = await reply.json();
  expect(reply.status, JSON.stringify(body)).toBe(200);
  return { reply, message: Message.parse(body) };
};

const resultsOf = ({ content }: z.infer<typeof Message>) => ({
  role: 'user',
  content: content.flatMap(({ type, id }) =>
    type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: '12:00' }] : [],
  ),
});

test('an agent goes from Gemini to Claude and back in the middle of a turn, with its thinking', async () => {
  const user = { role: 'user', content: 'use tool get_time' };
  const one = await ask([user]);
  expect(one.reply.headers.get('x-gateway-channel')).toBe('gemini');
  const first = [user, { role: 'assistant', content: one.message.content }, resultsOf(one.message)];

  stack.first.script({ status: 503 });
  const two = await ask([...first, { role: 'user', content: 'use tool get_time' }]);
  expect(two.reply.headers.get('x-gateway-channel')).toBe('claude');
  expect(JSON.stringify((await stack.second.nextRequest()).json())).not.toContain('thoughtSignature');

  const three = await ask([
    ...first,
    { role: 'user', content: 'use tool get_time' },
    { role: 'assistant', content: two.message.content },
    resultsOf(two.message),
  ]);
  expect(three.reply.headers.get('x-gateway-channel')).toBe('gemini');
  expect(stack.first.requests.at(-1)?.text()).toContain(NO_SIGNATURE);
});

test.for(TEXT_PROTOCOLS)('%s: a blocked prompt is a refusal', async (caller) => {
  const reply = await stack.text.fetch(PATHS[caller], {
    body: requestOf(caller, 'to-gemini', 'Say the forbidden words'),
  });
  expect(reply.status).toBe(200);
  const body = JSON.stringify(await reply.json());
  const signs = {
    messages: '"stop_reason":"refusal"',
    responses: '"type":"refusal"',
    chat: '"refusal":"The provider blocked',
  };
  expect(body).toContain(signs[caller]);
});

test('tokens are counted by Gemini, with the whole request', async () => {
  const reply = await stack.text.fetch('/v1/messages/count_tokens', {
    body: { model: 'to-gemini', system: 'Be brief.', messages: [{ role: 'user', content: 'How many?' }] },
  });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('x-gateway-estimated')).toBe(null);
  expect(await reply.json()).toEqual({ input_tokens: 5 });
  const request = await stack.first.nextRequest();
  expect(request.path).toBe('/v1beta/models/gemini-3.8-flash:countTokens');
  expect(request.json()).toHaveProperty('generateContentRequest.model', 'models/gemini-3.8-flash');
});
