import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { aiSdk } from '../testing/clients/ai-sdk.ts';
import { anthropicMessages } from '../testing/clients/anthropic-messages.ts';
import { openaiChat } from '../testing/clients/openai-chat.ts';
import { openaiResponses } from '../testing/clients/openai-responses.ts';
import {
  LOOP_ANSWER,
  PNG_BASE64,
  type PromptOptions,
  type TextClient,
} from '../testing/clients/text-client.ts';
import type { Stack } from '../testing/start-stack.ts';
import type { TextUnderTest } from '../testing/start-text.ts';
import { PATHS, startPairs, TEXT_PROTOCOLS } from '../testing/text-pairs.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startPairs();
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => stack.first.reset());

const CLIENTS: Readonly<Record<string, (text: TextUnderTest) => TextClient>> = {
  'openai (responses)': openaiResponses,
  'openai (chat)': openaiChat,
  anthropic: anthropicMessages,
  'ai sdk (responses)': (text) => aiSdk(text, 'responses'),
  'ai sdk (messages)': (text) => aiSdk(text, 'messages'),
  'ai sdk (chat)': (text) => aiSdk(text, 'chat'),
};

const CASES = Object.keys(CLIENTS).flatMap((client) =>
  TEXT_PROTOCOLS.flatMap((target) =>
    [false, true].map((stream) => ({ client, target, stream, manner: stream ? 'streamed' : 'whole' })),
  ),
);
type Case = (typeof CASES)[number];

const start = ({ client, target, stream }: Case): { client: TextClient; options: PromptOptions } => {
  const make = CLIENTS[client];
  if (make === undefined) throw new Error(`no client ${client}`);
  return { client: make(stack.text), options: { model: `to-${target}`, stream } };
};

/** Chat servers show their reasoning in a member that OpenAI's own does not have. */
const STAGE = { chat: '[[simulate quirk=reasoning-content]]', responses: undefined, messages: undefined };

test.for(CASES)('$client over $target, $manner: a text', async (row) => {
  const { client, options } = start(row);
  expect(await client.text(options, 'What is up? 🐳')).toBe('You said: What is up? 🐳');
  expect((await stack.first.nextRequest()).path).toBe(PATHS[row.target]);
});

test.for(CASES)('$client over $target, $manner: two tools at once, and the answer from both', async (row) => {
  const { client, options } = start(row);
  const { calls, answer } = await client.toolLoop({ ...options, thinking: false });
  const city = { city: expect.any(String) };
  expect(calls).toEqual([
    { name: 'get_weather', input: city },
    { name: 'get_time', input: city },
  ]);
  expect(answer).toBe(LOOP_ANSWER);
  expect(stack.first.requests).toHaveLength(2);
});

/**
 * Where nothing is shown: chat callers cannot request a summary of OpenAI's models, and the AI SDK neither reads reasoning
 * under Chat Completions nor raw reasoning text under Responses.
 */
const HIDDEN = new Set([
  'openai (chat) over responses',
  'ai sdk (responses) over chat',
  ...TEXT_PROTOCOLS.map((target) => `ai sdk (chat) over ${target}`),
]);

test.for(CASES)(
  '$client over $target, $manner: reasoning is shown and comes back to its maker',
  async (row) => {
    const { client, options } = start(row);
    const stage = STAGE[row.target];
    const { calls, answer, reasoning } = await client.toolLoop({
      ...options,
      thinking: true,
      ...(stage && { stage }),
    });
    expect(calls).toHaveLength(2);
    const isHidden = HIDDEN.has(`${row.client} over ${row.target}`);
    expect(reasoning).toEqual(isHidden ? '' : expect.stringContaining('The caller wants an answer'));
    expect(answer).toBe(LOOP_ANSWER);
  },
);

test.for(CASES)('$client over $target, $manner: an answer under a schema', async (row) => {
  const { client, options } = start(row);
  expect(await client.structured(options)).toEqual({
    city: expect.any(String),
    population: expect.any(Number),
  });
});

test.for(CASES)('$client over $target, $manner: an image', async (row) => {
  const { client, options } = start(row);
  expect(await client.image(options, 'What is it?')).toBe('You said: What is it?');
  expect((await stack.first.nextRequest()).text()).toContain(PNG_BASE64);
});
