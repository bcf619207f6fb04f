import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { Stack } from '../testing/start-stack.ts';
import { deltaText } from '../testing/test-streams.ts';
import { PATHS, startPairs, TEXT_PROTOCOLS, type TextProtocolName } from '../testing/text-pairs.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startPairs({
    channels: `
conversations: { sharingTeams: [shared] }`,
  });
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  stack.first.reset();
});

type Members = Record<string, unknown>;
const Members = z.record(z.string(), z.unknown());
const List = z.array(Members);

/** What only the vendor can read, with every letter that base64 has. */
const SEALED = {
  messages: 'EqQBCkYIAxgC+known/signature==',
  responses: 'gAAAAABknown-encrypted_content+/==',
} as const;
type Vendor = keyof typeof SEALED;
const VENDORS = ['messages', 'responses'] as const;

/** An answer of each vendor that thinks and then calls a tool. */
const ANSWERS: Readonly<Record<Vendor, object>> = {
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-5',
    content: [
      { type: 'thinking', thinking: 'Let me look.', signature: SEALED.messages },
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5 },
  },
  responses: {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'gpt-5.2',
    output: [
      {
        id: 'rs_1',
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Let me look.' }],
        encrypted_content: SEALED.responses,
      },
      {
        id: 'fc_1',
        type: 'function_call',
        status: 'completed',
        call_id: 'call_1',
        name: 'look',
        arguments: '{"at":1}',
      },
    ],
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  },
};

const parameters = { type: 'object', properties: { at: { type: 'integer' } } };

/** The first request of a client of each protocol, and the next one, which gives everything back with a result. */
const CLIENTS: Readonly<
  Record<TextProtocolName, { first: Members; next: (first: Members, answer: Members) => Members }>
> = {
  messages: {
    first: {
      max_tokens: 20_000,
      thinking: { type: 'adaptive' },
      tools: [{ name: 'look', input_schema: parameters }],
      messages: [{ role: 'user', content: 'Look' }],
    },
    next: (first, { content }) => {
      const call = List.parse(content).find(({ type }) => type === 'tool_use');
      const result = { type: 'tool_result', tool_use_id: call?.id, content: 'seen' };
      return {
        ...first,
        messages: [
          ...List.parse(first.messages),
          { role: 'assistant', content },
          { role: 'user', content: [result] },
        ],
      };
    },
  },
  responses: {
    first: {
      store: false,
      reasoning: { effort: 'medium', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'function', name: 'look', strict: false, parameters }],
      input: [{ role: 'user', content: 'Look' }],
    },
    next: (first, { output }) => {
      const items = List.parse(output);
      const call = items.find(({ type }) => type === 'function_call');
      const result = { type: 'function_call_output', call_id: call?.call_id, output: 'seen' };
      return { ...first, input: [...List.parse(first.input), ...items, result] };
    },
  },
  chat: {
    first: {
      reasoning_effort: 'medium',
      tools: [{ type: 'function', function: { name: 'look', parameters } }],
      messages: [{ role: 'user', content: 'Look' }],
    },
    next: (first, { choices }) => {
      const message = Members.parse(List.parse(choices)[0]?.message);
      const result = { role: 'tool', tool_call_id: List.parse(message.tool_calls)[0]?.id, content: 'seen' };
      return { ...first, messages: [...List.parse(first.messages), message, result] };
    },
  },
};

const post = (
  caller: TextProtocolName,
  model: string,
  body: Members,
  headers: Record<string, string> = {},
  identity = {},
) => stack.text.fetch(PATHS[caller], { body: { ...body, model }, headers, identity });

/** What the client holds after the first turn, which this vendor's model answered. */
async function afterFirstTurn(caller: TextProtocolName, vendor: Vendor, identity = {}): Promise<Members> {
  stack.first.script({ json: ANSWERS[vendor] });
  const { first, next } = CLIENTS[caller];
  const reply = await post(caller, `to-${vendor}`, first, {}, identity);
  expect(reply.status).toBe(200);
  await stack.first.nextRequest();
  return next(first, Members.parse(await reply.json()));
}

/** The simulator knows its own seals alone; here only what it was sent counts. */
const answerNext = (target: TextProtocolName) =>
  stack.first.script({ json: target === 'chat' ? CHAT_ANSWER : ANSWERS[target] });
const CHAT_ANSWER = {
  id: 'chatcmpl_1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Seen.' }, finish_reason: 'stop' }],
};

const PAIRS = TEXT_PROTOCOLS.flatMap((caller) => VENDORS.map((vendor) => ({ caller, vendor })));

test.for(PAIRS)(
  'a client of $caller brings reasoning of $vendor back to its maker byte for byte',
  async ({ caller, vendor }) => {
    const body = await afterFirstTurn(caller, vendor);
    answerNext(vendor);
    const reply = await post(caller, `to-${vendor}`, body);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-gateway-dropped')).toBe(null);
    const sent = (await stack.first.nextRequest()).text();
    expect(sent).toContain(JSON.stringify(SEALED[vendor]));
    expect(sent).toContain('Let me look.');
    expect(sent).not.toContain('gwt1_');
  },
);

const ELSEWHERE = PAIRS.flatMap(({ caller, vendor }) =>
  TEXT_PROTOCOLS.filter((target) => target !== vendor).map((target) => ({ caller, vendor, target })),
);

test.for(ELSEWHERE)(
  'a client of $caller that takes reasoning of $vendor to $target: it is left out, and so named',
  async ({ caller, vendor, target }) => {
    const body = await afterFirstTurn(caller, vendor);
    answerNext(target);
    const reply = await post(caller, `to-${target}`, body);
    expect(reply.status).toBe(200);
    const sent = (await stack.first.nextRequest()).text();
    expect(sent).not.toContain(SEALED[vendor]);
    expect(sent).not.toContain('gwt1_');
    expect(sent).toContain('seen');
    expect(reply.headers.get('x-gateway-dropped')).toMatch(/(?:^|,)(?:messages|input)\[1\]/);
    const strict = await post(caller, `to-${target}`, body, { 'x-gateway-strict': 'true' });
    expect(strict.status).toBe(400);
  },
);

const MIXED = PAIRS.filter(({ caller, vendor }) => caller !== vendor);
const SHARING = { keyId: 'key_mine', team: 'shared' };

test.for(MIXED)(
  "a client of $caller: another key's sealed reasoning of $vendor is left out by name, also on the caller's own protocol",
  async ({ caller, vendor }) => {
    const body = await afterFirstTurn(caller, vendor);
    for (const target of [vendor, caller]) {
      answerNext(target);
      const reply = await post(caller, `to-${target}`, body, {}, { keyId: 'key_two' });
      expect(reply.status).toBe(200);
      expect(reply.headers.get('x-gateway-dropped')).toMatch(/(?:^|,)(?:messages|input)\[1\]/);
      const sent = (await stack.first.nextRequest()).text();
      expect(sent).not.toContain(SEALED[vendor]);
      expect(sent).not.toContain('gwt1_');
    }
  },
);

test.for(MIXED)(
  'a client of $caller: reasoning of $vendor opens for the other keys of a team that shares',
  async ({ caller, vendor }) => {
    const body = await afterFirstTurn(caller, vendor, SHARING);
    answerNext(vendor);
    const reply = await post(caller, `to-${vendor}`, body, {}, { ...SHARING, keyId: 'key_other' });
    expect(reply.headers.get('x-gateway-dropped')).toBe(null);
    expect((await stack.first.nextRequest()).text()).toContain(JSON.stringify(SEALED[vendor]));
  },
);

test('a token that somebody changed is left out', async () => {
  const body = await afterFirstTurn('messages', 'responses');
  const changed = Members.parse(JSON.parse(JSON.stringify(body).replace(/"gwt1_(.)/, '"gwt1_$1x')));
  answerNext('responses');
  const reply = await post('messages', 'to-responses', changed);
  expect(reply.status).toBe(200);
  expect((await stack.first.nextRequest()).text()).not.toContain(SEALED.responses);
});

test.for([
  [
    'messages',
    'responses',
    'The encrypted content gAAA… could not be verified. Reason: Encrypted content could not be decrypted.',
  ],
  ['responses', 'messages', 'messages.1.content.0: Invalid `signature` in `thinking` block'],
] as const)(
  'a client of %s does not see that %s refused its own reasoning: the request is retried without it',
  async ([caller, vendor, message]) => {
    const body = await afterFirstTurn(caller, vendor);
    const error = { type: 'invalid_request_error', message, param: null, code: null };
    stack.first.script({ status: 400, json: { type: 'error', error } });
    answerNext(vendor);
    const reply = await post(caller, `to-${vendor}`, body);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-gateway-dropped')).toMatch(/(?:messages|input)\[1\]/);
    expect((await stack.first.nextRequest()).text()).toContain(SEALED[vendor]);
    expect((await stack.first.nextRequest()).text()).not.toContain(SEALED[vendor]);
    stack.first.script({ status: 400, json: { type: 'error', error } });
    stack.first.script({ status: 400, json: { type: 'error', error } });
    expect((await post(caller, `to-${vendor}`, body)).status).toBe(400);
  },
);

test('for an organisation that may not have summaries the request is retried without', async () => {
  const error = {
    type: 'invalid_request_error',
    message: 'Your organization must be verified to generate reasoning summaries.',
    param: 'reasoning.summary',
    code: 'unsupported_value',
  };
  stack.first.script({ status: 400, json: { error } });
  const thinking = { type: 'adaptive', display: 'summarized' };
  const reply = await post('messages', 'to-responses', { ...CLIENTS.messages.first, thinking });
  expect(reply.status).toBe(200);
  expect((await stack.first.nextRequest()).json()).toMatchObject({ reasoning: { summary: 'auto' } });
  expect((await stack.first.nextRequest()).text()).not.toContain('summary');
});

test.for([false, true])(
  "Mistral's thinking parts are reasoning, and its text is text (streamed: %j)",
  async (stream) => {
    stack.first.script({ quirks: ['thinking-parts'], text: 'It is four.' });
    const reply = await stack.text.fetch(PATHS.messages, {
      body: {
        model: 'to-chat',
        max_tokens: 2000,
        thinking: { type: 'enabled', budget_tokens: 1024 },
        messages: [{ role: 'user', content: 'Two and two?' }],
        stream,
      },
    });
    expect(reply.status).toBe(200);
    const text = await reply.text();
    expect(text).toMatch(stream ? /"type":"thinking_delta","thinking":"[^"]/ : /"thinking":"[^"]/);
    const shown = stream
      ? deltaText(text)
      : z.string().parse(List.parse(Members.parse(JSON.parse(text)).content)[1]?.text);
    expect(shown).toContain('It is four.');
  },
);
