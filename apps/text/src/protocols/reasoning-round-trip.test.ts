import { readFileSync } from 'node:fs';
import type { QuirksInput } from '@gateway/contracts/quirks';
import type { ConversationProtocol } from '@gateway/upstream/protocol';
import { expect, test } from 'vitest';
import { translateReply } from '../conversion/translate-reply.ts';
import { translateRequest } from '../conversion/translate-request.ts';
import type { Target } from '../neutral/target.ts';
import { testReplyContext, testTarget, testTokens } from '../testing/test-context.ts';
import { planFor } from '../testing/test-streams.ts';
import { TEXT_PROTOCOLS, type TextProtocolName as TextProtocol } from '../testing/text-pairs.ts';
import { isJsonObject, parseBody } from '../wire/raw-json.ts';
import { createTokenSeals, TOKEN_PREFIX } from '../wire/tokens/opaque-token.ts';

type Body = { readonly [member: string]: unknown };

const record = (value: unknown): Body => (isJsonObject(value) ? value : {});
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const reply = (name: string): unknown =>
  parseBody(readFileSync(new URL(`./fixtures/replies/${name}.json`, import.meta.url), 'utf8'));

/** The next request of a client that sends back what it was given, with results for every call. */
const NEXT_REQUEST: Record<TextProtocol, (answer: Body) => Body> = {
  messages: ({ content }) => ({
    max_tokens: 20_000,
    messages: [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content },
      {
        role: 'user',
        content: list(content).flatMap((block) => {
          const { type, id } = record(block);
          return type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] : [];
        }),
      },
    ],
  }),
  responses: ({ output }) => ({
    input: [
      { role: 'user', content: 'Go' },
      ...list(output),
      ...list(output).flatMap((item) => {
        const { type, call_id } = record(item);
        const isCall = type === 'function_call' || type === 'custom_tool_call';
        return isCall ? [{ type: `${type}_output`, call_id, output: 'ok' }] : [];
      }),
    ],
  }),
  chat: ({ choices }) => {
    const message = record(record(list(choices)[0]).message);
    return {
      messages: [
        { role: 'user', content: 'Go' },
        message,
        ...list(message.tool_calls).map((call) => ({
          role: 'tool',
          tool_call_id: record(call).id,
          content: 'ok',
        })),
      ],
    };
  },
};

function nextRequest(caller: TextProtocol, upstream: ConversationProtocol, name: string): Body {
  return nextAfter(caller, upstream, reply(name));
}

function nextAfter(caller: TextProtocol, upstream: ConversationProtocol, answered: unknown): Body {
  const { body } = translateReply(planFor(caller, upstream), answered, testReplyContext());
  const answer = record(JSON.parse(JSON.stringify(body)));
  return { model: 'callers-model', ...NEXT_REQUEST[caller](answer) };
}

const sendOn = (caller: TextProtocol, body: Body, target: Target, tokens = testTokens) =>
  translateRequest({ caller, body, target, tokens });

test.for(TEXT_PROTOCOLS)(
  'Claude gets its own thinking back byte for byte through a client of %s',
  (caller) => {
    const body = nextRequest(caller, 'messages', 'messages-thinking-and-tools');
    const { body: sent, dropped } = sendOn(caller, body, testTarget('messages'));
    const assistant = record(list(sent.messages)[1]);
    expect(list(assistant.content).slice(0, 2)).toEqual([
      { type: 'thinking', thinking: 'Let me look.', signature: 'EqQBown' },
      { type: 'redacted_thinking', data: 'EmwKown' },
    ]);
    expect(dropped.filter(({ reason }) => reason.startsWith('reasoning'))).toEqual([]);
  },
);

const CLAUDE: QuirksInput = { reasoningVendor: 'anthropic' };
const ON_BEDROCK = { model: 'eu.anthropic.claude-opus-5' };

/** Answers of Claude by Converse, and of another model there. */
const sentBack = (caller: TextProtocol, from: Target, to: Target): Body => {
  const plan = { ...planFor(caller, 'converse'), target: from };
  const { body } = translateReply(plan, reply('converse-thinking-and-tools'), testReplyContext());
  const answer = record(JSON.parse(JSON.stringify(body)));
  const next = { model: 'callers-model', ...NEXT_REQUEST[caller](answer) };
  const { body: sent } = sendOn(caller, next, to);
  return record(list(sent.messages)[1]);
};

const nova = (model: string) => testTarget('converse', {}, { model });

test.for(TEXT_PROTOCOLS)(
  'a model of Bedrock gets its own reasoning back byte for byte through a client of %s',
  (caller) => {
    const own = [
      { reasoningContent: { reasoningText: { text: 'Let me look.', signature: 'EqQBown' } } },
      { reasoningContent: { redactedContent: 'RW13S293bg==' } },
    ];
    for (const [from, to] of [
      ['us.amazon.nova-2-pro-v1:0', 'us.amazon.nova-2-pro-v1:0'],
      ['us.amazon.nova-2-pro-v1:0', 'eu.amazon.nova-2-lite-v1:0'],
      [
        'arn:aws:bedrock:x:1:application-inference-profile/a',
        'arn:aws:bedrock:x:1:application-inference-profile/a',
      ],
    ] as const) {
      const { content } = sentBack(caller, nova(from), nova(to));
      expect(list(content).slice(0, 2)).toEqual(own);
    }
  },
);

test.for(TEXT_PROTOCOLS)(
  "Claude's signatures hold by Converse and by Messages, through a client of %s",
  (caller) => {
    const converse = testTarget('converse', CLAUDE, ON_BEDROCK);
    const { content } = sentBack(caller, converse, testTarget('messages'));
    expect(list(content)[0]).toEqual({ type: 'thinking', thinking: 'Let me look.', signature: 'EqQBown' });
    // Its hidden thinking has another form there.
    expect(JSON.stringify(content)).not.toContain('redacted');
    const body = nextRequest(caller, 'messages', 'messages-thinking-and-tools');
    const { body: sent } = sendOn(caller, body, converse);
    expect(list(record(list(sent.messages)[1]).content)[0]).toEqual({
      reasoningContent: { reasoningText: { text: 'Let me look.', signature: 'EqQBown' } },
    });
  },
);

test.for(TEXT_PROTOCOLS)('no other model of Bedrock gets it, through a client of %s', (caller) => {
  for (const [from, to] of [
    [nova('us.amazon.nova-2-pro-v1:0'), nova('us.deepseek.r1-v1:0')],
    [nova('us.amazon.nova-2-pro-v1:0'), nova('arn:aws:bedrock:x:1:application-inference-profile/a')],
    [
      nova('arn:aws:bedrock:x:1:application-inference-profile/a'),
      nova('arn:aws:bedrock:x:1:application-inference-profile/b'),
    ],
    [nova('us.amazon.nova-2-pro-v1:0'), testTarget('converse', CLAUDE, ON_BEDROCK)],
    [testTarget('converse', CLAUDE, ON_BEDROCK), nova('us.amazon.nova-2-pro-v1:0')],
  ] as const) {
    const written = JSON.stringify(sentBack(caller, from, to));
    for (const secret of ['EqQBown', 'RW13S293bg', 'Let me look.']) expect(written).not.toContain(secret);
  }
});

test.for(TEXT_PROTOCOLS)('OpenAI gets its own reasoning items back through a client of %s', (caller) => {
  const body = nextRequest(caller, 'responses', 'responses-reasoning-and-calls');
  const { body: sent } = sendOn(caller, body, testTarget('responses'));
  expect(list(sent.input).filter((item) => record(item).type === 'reasoning')).toEqual([
    {
      type: 'reasoning',
      summary: [
        { type: 'summary_text', text: 'First.' },
        { type: 'summary_text', text: 'Second.' },
      ],
      encrypted_content: 'gAAAown',
    },
    { type: 'reasoning', summary: [], encrypted_content: 'gAAAhidden' },
  ]);
});

test.for(TEXT_PROTOCOLS)('an open-weight model gets its own trace back through a client of %s', (caller) => {
  const body = nextRequest(caller, 'chat', 'chat-reasoning-and-odd-calls');
  const { body: sent } = sendOn(caller, body, testTarget('chat', { reasoningBack: 'required' }));
  expect(record(list(sent.messages)[1]).reasoning_content).toBe('Think.');
});

const gemini = (quirks: QuirksInput = {}, more: Partial<Target> = {}) => testTarget('gemini', quirks, more);

/** The parts of the model's content, with what Gemini's calls are without. */
const modelParts = (sent: Body): readonly Body[] =>
  list(record(list(sent.contents).find((content) => record(content).role === 'model')).parts).map(record);

const signatures = (sent: Body) =>
  modelParts(sent).map((part) => [
    record(part.functionCall).name ?? (typeof part.text === 'string' ? part.text : Object.keys(part)[0]),
    part.thoughtSignature,
  ]);

test.for(TEXT_PROTOCOLS)(
  'Gemini gets each signature back on its own part through a client of %s',
  (caller) => {
    const body = nextRequest(caller, 'gemini', 'gemini-thinking-and-calls');
    const { body: sent, dropped } = sendOn(caller, body, gemini());
    expect(signatures(sent)).toEqual([
      ['I will look up both tides.', undefined],
      ['tide_times', 'Rmlyc3RDYWxs'],
      ['tide_times', undefined],
      ['wind', 'VGhpcmRDYWxs'],
    ]);
    expect(dropped).toEqual([]);
  },
);

test.for(TEXT_PROTOCOLS)(
  'the signature of a text comes back on the text through a client of %s',
  (caller) => {
    const { body: sent, dropped } = sendOn(
      caller,
      nextRequest(caller, 'gemini', 'gemini-text'),
      gemini({}, { countsOnly: true }),
    );
    expect(signatures(sent)).toEqual([['High water is at 06:12.', 'VGV4dFNpZ25hdHVyZQ==']]);
    expect(dropped).toEqual([]);
  },
);

test.for(TEXT_PROTOCOLS)(
  "parts of Google's own tools come back as they were through a client of %s",
  (caller) => {
    const body = nextRequest(caller, 'gemini', 'gemini-server-tools');
    const { candidates } = record(reply('gemini-server-tools'));
    const parts = list(record(record(list(candidates)[0]).content).parts).map(record);
    const { body: sent } = sendOn(caller, body, gemini());
    expect(JSON.parse(JSON.stringify(modelParts(sent)))).toEqual(parts);
  },
);

/** Every way in which a signature cannot go back. */
const UNSIGNED: readonly [why: string, target: () => Target][] = [
  ['another model', () => gemini({}, { scope: 'our-organisation another-model' })],
  ['a refusal of its signatures', () => gemini({}, { withholdReasoning: true })],
];

test.for(TEXT_PROTOCOLS.flatMap((caller) => UNSIGNED.map(([why, target]) => ({ caller, why, target }))))(
  'after $why a call of the turn is sent without checking, through a client of $caller',
  ({ caller, target }) => {
    const body = nextRequest(caller, 'gemini', 'gemini-thinking-and-calls');
    const { body: sent, dropped } = sendOn(caller, body, target());
    expect(signatures(sent).slice(1)).toEqual([
      ['tide_times', 'skip_thought_signature_validator'],
      ['tide_times', undefined],
      ['wind', undefined],
    ]);
    expect(dropped.every(({ reason }) => reason.startsWith('reasoning'))).toBe(true);
    expect(dropped).not.toEqual([]);
  },
);

test.for(TEXT_PROTOCOLS)(
  'a call that Claude made goes to Gemini without a check, from a client of %s',
  (caller) => {
    const body = nextRequest(caller, 'messages', 'messages-thinking-and-tools');
    const { body: sent } = sendOn(caller, body, gemini());
    const calls = modelParts(sent).filter((part) => 'functionCall' in part);
    expect(calls[0]?.thoughtSignature).toBe('skip_thought_signature_validator');
    expect(JSON.stringify(sent)).not.toContain('EqQBown');
    const { body: budgeted } = sendOn(caller, body, gemini({ thinking: 'manual' }));
    expect(JSON.stringify(budgeted)).not.toContain('skip_thought');
  },
);

test('only the calls of the current turn are exempted from the check', () => {
  const { messages } = nextRequest('messages', 'messages', 'messages-thinking-and-tools');
  const over = [
    ...list(messages),
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'Thanks' },
  ];
  const { body } = sendOn('messages', { model: 'm', max_tokens: 9, messages: over }, gemini());
  expect(JSON.stringify(body)).not.toContain('skip_thought');
});

const FOREIGN: readonly {
  caller: TextProtocol;
  from: ConversationProtocol;
  name: string;
  to: ConversationProtocol;
}[] = TEXT_PROTOCOLS.flatMap((caller) => [
  { caller, from: 'gemini' as const, name: 'gemini-thinking-and-calls', to: 'messages' as const },
  { caller, from: 'gemini' as const, name: 'gemini-thinking-and-calls', to: 'responses' as const },
  { caller, from: 'gemini' as const, name: 'gemini-thinking-and-calls', to: 'chat' as const },
  { caller, from: 'messages' as const, name: 'messages-thinking-and-tools', to: 'gemini' as const },
  { caller, from: 'responses' as const, name: 'responses-reasoning-and-calls', to: 'gemini' as const },
  { caller, from: 'messages' as const, name: 'messages-thinking-and-tools', to: 'responses' as const },
  { caller, from: 'messages' as const, name: 'messages-thinking-and-tools', to: 'chat' as const },
  { caller, from: 'responses' as const, name: 'responses-reasoning-and-calls', to: 'messages' as const },
  { caller, from: 'responses' as const, name: 'responses-reasoning-and-calls', to: 'chat' as const },
]);

test.for(FOREIGN)(
  'reasoning of $from is never shown to $to by a client of $caller',
  ({ caller, from, name, to }) => {
    const body = nextRequest(caller, from, name);
    const { body: sent, dropped } = sendOn(caller, body, testTarget(to, { reasoningBack: 'known' }));
    const written = JSON.stringify(sent);
    for (const secret of [
      'EqQBown',
      'EmwKown',
      'gAAAown',
      'gAAAhidden',
      'Rmlyc3RDYWxs',
      'Two harbours',
      'Let me look.',
      'First.',
      TOKEN_PREFIX,
    ]) {
      expect(written).not.toContain(secret);
    }
    expect(dropped.some(({ reason }) => reason.startsWith('reasoning'))).toBe(true);
  },
);

test("OpenAI's reasoning stays within the organisation that made it", () => {
  const body = nextRequest('messages', 'responses', 'responses-reasoning-and-calls');
  const elsewhere = testTarget('responses', {}, { scope: 'another-organisation' });
  expect(JSON.stringify(sendOn('messages', body, elsewhere).body)).not.toContain('gAAAown');
});

test('a token that was altered, or made with another secret, is dropped with its block', () => {
  const body = nextRequest('responses', 'messages', 'messages-thinking-and-tools');
  const altered: unknown = JSON.parse(
    JSON.stringify(body).replaceAll(`${TOKEN_PREFIX}ey`, `${TOKEN_PREFIX}fy`),
  );
  for (const [request, tokens] of [
    [record(altered), testTokens],
    [body, createTokenSeals('another secret').ownedBy(['a-key'])],
  ] as const) {
    const { body: sent, dropped } = sendOn('responses', request, testTarget('messages'), tokens);
    expect(JSON.stringify(sent)).not.toContain('thinking');
    expect(dropped.length).toBe(2);
  }
});

test('thinking is not requested of a manual model whose tool loop lost its own', () => {
  const body = {
    ...nextRequest('responses', 'responses', 'responses-reasoning-and-calls'),
    reasoning: { effort: 'high' },
  };
  const { body: sent, dropped } = sendOn('responses', body, testTarget('messages', { thinking: 'manual' }));
  expect(sent).not.toHaveProperty('thinking');
  expect(dropped.map(({ path }) => path)).toContainEqual(['reasoning', 'effort']);
});

test('a manual model keeps thinking while its own thinking is there', () => {
  const body = {
    ...nextRequest('responses', 'messages', 'messages-thinking-and-tools'),
    reasoning: { effort: 'high' },
  };
  const { body: sent } = sendOn('responses', body, testTarget('messages', { thinking: 'manual' }));
  expect(sent.thinking).toEqual({ type: 'enabled', budget_tokens: 16_384, display: 'omitted' });
});

test('a request repeated without reasoning holds none, not even its own', () => {
  const body = nextRequest('responses', 'messages', 'messages-thinking-and-tools');
  const { body: sent } = sendOn('responses', body, testTarget('messages', {}, { withholdReasoning: true }));
  expect(JSON.stringify(sent)).not.toContain('thinking');
});
