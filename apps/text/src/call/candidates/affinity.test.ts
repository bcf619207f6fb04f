import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stack, startStack, TWO_OF_EACH } from '../../testing/start-stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ configuration: TWO_OF_EACH });
});
afterAll(() => stack[Symbol.asyncDispose]());

const MESSAGES = [{ role: 'user', content: 'hi' }];

/** The members and headers by which a caller names the conversation of its request. */
const CONVERSATIONS = {
  'prompt_cache_key of a response': (key: string) => ({ body: { input: 'hi', prompt_cache_key: key } }),
  "Codex's session": (key: string) => ({ body: { input: 'hi' }, headers: { session_id: key } }),
  'prompt_cache_key of a completion': (key: string) => ({
    path: '/v1/chat/completions',
    body: { messages: MESSAGES, prompt_cache_key: key },
  }),
  "Claude Code's session": (key: string) => ({
    path: '/v1/messages',
    body: { max_tokens: 9, messages: MESSAGES, metadata: { user_id: 'the same for all' } },
    headers: { 'x-claude-code-session-id': key },
  }),
  'metadata.user_id of a message': (key: string) => ({
    path: '/v1/messages',
    body: { max_tokens: 9, messages: MESSAGES, metadata: { user_id: key } },
  }),
} as const;

interface Sent {
  readonly path?: string;
  readonly body: object;
  readonly headers?: Record<string, string>;
}

const send = async (
  { path = '/v1/responses', body, headers = {} }: Sent,
  keyId = 'key_one',
  model = 'native',
) => {
  const version = path === '/v1/messages' ? { 'anthropic-version': '2023-06-01' } : {};
  const reply = await stack.text.fetch(path, {
    body: { model, ...body },
    headers: { ...version, ...headers },
    identity: { keyId },
  });
  expect(reply.status).toBe(200);
  return { channel: reply.headers.get('x-gateway-channel'), made: Object(await reply.json()) };
};

const KEYS = Array.from({ length: 12 }, (_, index) => `conversation-${index}`);

test.for(Object.entries(CONVERSATIONS))('%s keeps a conversation on its channel', async ([, of]) => {
  const channels = new Set<unknown>();
  for (const key of KEYS) {
    const { channel } = await send(of(key));
    for (let turn = 0; turn < 2; turn += 1) expect((await send(of(key))).channel).toBe(channel);
    channels.add(channel);
  }
  expect(channels).toEqual(new Set(['one', 'two']));
});

test("another key's conversation of the same name is another conversation", async () => {
  const of = CONVERSATIONS['prompt_cache_key of a response'];
  const ways = async (keyId: string) => {
    const channels: unknown[] = [];
    for (const key of KEYS) channels.push((await send(of(key), keyId)).channel);
    return channels;
  };
  expect(await ways('key_one')).not.toEqual(await ways('key_two'));
});

test('a conversation that the gateway keeps goes on at the channel that gave its last response', async () => {
  const channels = new Set<unknown>();
  for (let count = 0; count < 12; count += 1) {
    const first = await send({ body: { input: 'hi' } }, 'key_one', 'translated');
    const body = { input: 'and?', previous_response_id: first.made.id };
    const second = await send({ body }, 'key_one', 'translated');
    expect(second.channel).toBe(first.channel);
    channels.add(first.channel);
  }
  expect(channels).toEqual(new Set(['chat-one', 'chat-two']));
});

test('a message thread goes on at the channel that gave its last reply', async () => {
  const channels = new Set<unknown>();
  for (let count = 0; count < 12; count += 1) {
    const turn = (thread: object) => ({
      path: '/v1/messages',
      body: { max_tokens: 9, messages: MESSAGES, thread },
      headers: { 'anthropic-beta': 'message-threads-2026-08-12' },
    });
    const first = await send(turn({ type: 'create' }), 'key_one', 'translated');
    const second = await send(
      turn({ type: 'continue', previous_message_id: first.made.id }),
      'key_one',
      'translated',
    );
    expect(second.channel).toBe(first.channel);
    channels.add(first.channel);
  }
  expect(channels).toEqual(new Set(['chat-one', 'chat-two']));
});
