import { once } from 'node:events';
import { createServer } from 'node:http';
import type { TestSocket } from '@gateway/testkit/connect-socket';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type Stack, startStack } from '../testing/start-stack.ts';
import { CALLERS } from '../testing/test-streams.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';

/**
 * Large bodies are read, written, stored and continued in the thread, whatever is done with them: nothing that this side
 * parses or writes as JSON is as large as the request. (The thread has a `JSON` of its own.)
 */
const MAX_CHARACTERS = 48 * 1024;

const PATHS: Readonly<Record<TextProtocol, string>> = {
  responses: '/v1/responses',
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
};
const usage = { input_tokens: 9, output_tokens: 1, total_tokens: 10 };
const message = {
  id: 'msg_up',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'yes', annotations: [] }],
};
const response = { id: 'resp_up', object: 'response', created_at: 1, status: 'completed', model: 'm', usage };
const claude = { id: 'msg_up', type: 'message', role: 'assistant', model: 'm', content: [], usage };
const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
const counts = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 };

/** What the providers of each protocol answer: whole, and as events. */
const ANSWERS: Readonly<
  Record<TextProtocol, { readonly whole: object; readonly events: readonly object[] }>
> = {
  responses: {
    whole: { ...response, output: [message] },
    events: [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.done', output_index: 0, item: message },
      { type: 'response.completed', response: { ...response, output: [message] } },
    ],
  },
  messages: {
    whole: { ...claude, content: [{ type: 'text', text: 'yes' }], stop_reason: 'end_turn' },
    events: [
      { type: 'message_start', message: claude },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'yes' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ],
  },
  chat: {
    whole: {
      ...chunk,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
      usage: counts,
    },
    events: [
      { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: 'yes' } }] },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: counts },
    ],
  },
};
const WRITTEN = Object.fromEntries(
  CALLERS.map((protocol) => [
    PATHS[protocol],
    {
      whole: JSON.stringify(ANSWERS[protocol].whole),
      stream: ANSWERS[protocol].events
        .map(
          (event) => `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`,
        )
        .join(''),
    },
  ]),
);

/** What the providers got, as it was sent. */
const sent: string[] = [];
/** The longest JSON that was parsed or written here. */
let longest = 0;

let stack: Stack;
beforeAll(async () => {
  const provider = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (bytes: Buffer) => chunks.push(bytes));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      sent.push(body);
      const { whole, stream } = WRITTEN[request.url ?? ''] ?? { whole: '{"input_tokens":9}', stream: '' };
      const isStream = body.includes('"stream":true');
      reply.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      reply.end(isStream ? stream : whole);
    });
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  const address = provider.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const channel = (protocol: TextProtocol) =>
    `{ provider: openai-compatible, baseUrl: "${url}/v1", apiKey: k, speaks: [${protocol}] }`;
  stack = await startStack({
    configuration: () => `
channels:
${CALLERS.map((protocol) => `  ${protocol}: ${channel(protocol)}`).join('\n')}
models:
${CALLERS.map((protocol) => `  ${protocol}: { kind: text, routes: [{ channel: ${protocol}, model: another }] }`).join('\n')}
`,
  });
  return () => provider.close();
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  sent.length = 0;
  longest = 0;
  const { parse, stringify } = JSON;
  vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    longest = Math.max(longest, text.length);
    return parse(text, reviver);
  });
  vi.spyOn(JSON, 'stringify').mockImplementation((...args: Parameters<typeof stringify>) => {
    const text = stringify(...args);
    longest = Math.max(longest, text?.length ?? 0);
    return text;
  });
  return () => vi.restoreAllMocks();
});

const LAST = 'the last words';
const text = (content: string) => `{"role":"user","content":${content}}`;
const many = (count: number) => Array.from({ length: count }, (_, at) => text(`"text ${at}"`)).join(',');
/** Conversations that are large in one way each, as JSON. */
const SHAPES: Readonly<Record<string, string>> = {
  bytes: text(`"${'lorem ipsum '.repeat(50_000)}"`),
  escapes: text(`"${'\\"'.repeat(300_000)}"`),
  values: many(4000),
};
const turns = (shape = '') => `[${shape},${text(`"${LAST}"`)}]`;
const bodyOf = (caller: TextProtocol, model: string, shape: string, members = '') =>
  `{"model":"${model}",${caller === 'responses' ? '"input"' : '"messages"'}:${turns(shape)}${
    caller === 'messages' ? ',"max_tokens":100' : ''
  }${members}}`;

const CASES = CALLERS.flatMap((caller) =>
  CALLERS.flatMap((upstream) =>
    Object.keys(SHAPES).flatMap((shape) =>
      [false, true].map((streamed) => [caller, upstream, shape, streamed] as const),
    ),
  ),
);

test.for(CASES)('%s over %s, large by its %s, streamed %s', async ([caller, upstream, shape, streamed]) => {
  const body = bodyOf(caller, upstream, SHAPES[shape] ?? '', `,"stream":${streamed}`);
  const reply = await stack.text.fetch(PATHS[caller], { body });
  expect(await reply.text()).toContain('yes');
  expect(reply.status).toBe(200);
  expect(longest).toBeLessThan(MAX_CHARACTERS);
  expect(sent).toHaveLength(1);
  expect(sent[0]).toContain(LAST);
  expect(sent[0]).toContain('"model":"another"');
  expect(sent[0]?.length).toBeGreaterThan(body.length / 2);
});

test.for(['chat', 'messages', 'responses'])('stored and continued over %s', async (upstream) => {
  const ask = async (body: string): Promise<string> => {
    const reply = await stack.text.fetch('/v1/responses', { body });
    const answer = await reply.text();
    expect(answer).toContain('yes');
    return /"id": ?"(resp_[^"]+)"/.exec(answer)?.[1] ?? '';
  };
  const first = await ask(bodyOf('responses', upstream, SHAPES.bytes ?? ''));
  expect(longest).toBeLessThan(MAX_CHARACTERS);
  await ask(`{"model":"${upstream}","input":"and?","previous_response_id":"${first}"}`);
  expect(longest).toBeLessThan(MAX_CHARACTERS);
  for (const said of [LAST, 'lorem', 'yes', 'and?']) expect(sent[1]).toContain(said);
});

test.for(['chat', 'messages', 'responses'])(
  'over a WebSocket, continued there, over %s',
  async (upstream) => {
    using socket: TestSocket = await stack.text.webSocket();
    for (const shape of Object.values(SHAPES)) {
      sent.length = 0;
      const body = bodyOf('responses', upstream, shape, ',"type":"response.create","store":false');
      socket.send(body);
      const first = (await socket.answer()).at(-1);
      expect(first).toMatchObject({ type: 'response.completed' });
      const { id } = Object(first?.response);
      socket.send(
        `{"type":"response.create","model":"${upstream}","store":false,"input":"and?","previous_response_id":"${id}"}`,
      );
      expect((await socket.answer()).at(-1)).toMatchObject({ type: 'response.completed' });
      expect(longest).toBeLessThan(MAX_CHARACTERS);
      for (const said of [LAST, 'yes', 'and?']) expect(sent[1]).toContain(said);
    }
  },
);
