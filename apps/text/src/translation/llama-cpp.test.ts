import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type Stack, startStack } from '../testing/start-stack.ts';
import { PATHS, requestOf, TEXT_PROTOCOLS, type TextProtocolName } from '../testing/text-pairs.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({
    configuration: (first, second) => `
channels:
  chat: { provider: llama-cpp, baseUrl: "${first}/v1", apiKey: k }
  messages: { provider: llama-cpp, baseUrl: "${first}/v1", apiKey: k, speaks: [messages] }
  responses: { provider: llama-cpp, baseUrl: "${first}/v1", apiKey: k, speaks: [responses] }
  reserve: { provider: simulator, baseUrl: "${second}", apiKey: k }
models:
  over-chat: { kind: text, routes: [{ channel: chat }, { channel: reserve, priority: 1 }] }
  over-messages: { kind: text, routes: [{ channel: messages }, { channel: reserve, priority: 1 }] }
  over-responses: { kind: text, routes: [{ channel: responses }, { channel: reserve, priority: 1 }] }
`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
  stack.second.reset();
});

const PAIRS = TEXT_PROTOCOLS.flatMap((caller) => TEXT_PROTOCOLS.map((spoken) => ({ caller, spoken })));

const Failure = z.looseObject({
  error: z.looseObject({
    type: z.string(),
    message: z.string(),
    code: z.string().nullish(),
    param: z.string().nullish(),
  }),
});

const send = (caller: TextProtocolName, spoken: TextProtocolName, more: object = {}) =>
  stack.text.fetch(PATHS[caller], { body: requestOf(caller, `over-${spoken}`, 'Hello', more) });

// The errors are recorded from llama.cpp's server.
const TOO_LONG = {
  error: {
    code: 400,
    message: 'request (5010 tokens) exceeds the available context size (2048 tokens), try increasing it',
    type: 'exceed_context_size_error',
    n_prompt_tokens: 5010,
    n_ctx: 2048,
  },
};
const NO_IMAGES = {
  error: {
    code: 500,
    message: 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
    type: 'server_error',
  },
};

test.for(PAIRS.flatMap((pair) => [false, true].map((stream) => ({ ...pair, stream }))))(
  '$caller over $spoken (streamed: $stream): an input that is too long is refused with its numbers',
  async ({ caller, spoken, stream }) => {
    stack.first.script({ status: 400, json: TOO_LONG });
    const reply = await send(caller, spoken, { stream });
    expect(reply.status).toBe(400);
    const { error } = Failure.parse(await reply.json());
    if (caller === 'messages') expect(error.message).toBe('prompt is too long: 5010 tokens > 2048 maximum');
    else {
      const param = caller === 'chat' ? 'messages' : 'input';
      expect(error).toMatchObject({ type: 'invalid_request_error', code: 'context_length_exceeded', param });
      expect(error.message).toMatch(/5010 tokens.*2048 tokens/);
    }
    expect(stack.second.requests).toEqual([]);
  },
);

test.for(PAIRS)(
  '$caller over $spoken: an image that the model cannot take is a 400 after one request',
  async ({ caller, spoken }) => {
    stack.first.script({ status: 500, json: NO_IMAGES });
    const reply = await send(caller, spoken);
    expect([reply.status, reply.headers.get('x-should-retry')]).toEqual([400, 'false']);
    const { error } = Failure.parse(await reply.json());
    expect(error).toMatchObject({ type: 'invalid_request_error' });
    expect(error.message).toContain('image input is not supported');
    expect(stack.first.requests.length + stack.second.requests.length).toBe(1);
  },
);

const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const NAMES = ['look', 'listen'];
const TOOLS: Readonly<Record<TextProtocolName, object>> = {
  responses: {
    tools: NAMES.map((name) => ({ type: 'function', name, parameters })),
    tool_choice: { type: 'function', name: 'listen' },
  },
  messages: {
    tools: NAMES.map((name) => ({ name, input_schema: parameters })),
    tool_choice: { type: 'tool', name: 'listen', disable_parallel_tool_use: true },
  },
  chat: {
    tools: NAMES.map((name) => ({ type: 'function', function: { name, parameters } })),
    tool_choice: { type: 'function', function: { name: 'listen' } },
  },
};
const Sent = z.looseObject({ model: z.string(), tools: z.array(z.unknown()), tool_choice: z.unknown() });

test.for(PAIRS)(
  '$caller over $spoken: of a choice that names a tool, that tool alone is offered and required',
  async ({ caller, spoken }) => {
    expect((await send(caller, spoken, TOOLS[caller])).status).toBe(200);
    const sent = Sent.parse((await stack.first.nextRequest()).json());
    expect(sent.model).toBe(`over-${spoken}`);
    expect(JSON.stringify(sent.tools)).toContain('"listen"');
    expect(JSON.stringify(sent.tools)).not.toContain('"look"');
    if (spoken === 'messages') expect(sent.tool_choice).toMatchObject({ type: 'any' });
    else expect(sent.tool_choice).toBe('required');
  },
);

test.for(['chat', 'responses'] as const)(
  '%s: of a list of allowed tools only these are offered',
  async (caller) => {
    const allowed = [
      caller === 'chat'
        ? { type: 'function', function: { name: 'look' } }
        : { type: 'function', name: 'look' },
    ];
    const list = { mode: 'auto', tools: allowed };
    const choice = caller === 'chat' ? { allowed_tools: list } : list;
    await send(caller, caller, { ...TOOLS[caller], tool_choice: { type: 'allowed_tools', ...choice } });
    const sent = Sent.parse((await stack.first.nextRequest()).json());
    expect([sent.tools.length, sent.tool_choice]).toEqual([1, 'auto']);
  },
);

test.for([
  ['messages', 'over-chat', '/v1/chat/completions/input_tokens'],
  ['messages', 'over-messages', '/v1/messages/count_tokens'],
  ['messages', 'over-responses', '/v1/responses/input_tokens'],
  ['responses', 'over-chat', '/v1/chat/completions/input_tokens'],
  ['responses', 'over-messages', '/v1/messages/count_tokens'],
  ['responses', 'over-responses', '/v1/responses/input_tokens'],
] as const)('%s for %s: the server itself counts', async ([caller, model, path]) => {
  stack.first.script({ json: { input_tokens: 218, object: 'response.input_tokens' } });
  const { max_tokens: _, ...body }: { max_tokens?: number } = requestOf(
    caller,
    model,
    'Hello',
    TOOLS[caller],
  );
  const address = caller === 'messages' ? '/v1/messages/count_tokens' : '/v1/responses/input_tokens';
  const reply = await stack.text.fetch(address, { body });
  expect([reply.status, reply.headers.get('x-gateway-estimated')]).toEqual([200, null]);
  expect(await reply.json()).toMatchObject({ input_tokens: 218 });
  expect((await stack.first.nextRequest()).path).toBe(path);
});
