import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { collectSse } from '@gateway/testkit/collect-sse';
import type { TestSocket } from '@gateway/testkit/connect-socket';
import { everyNth } from '@gateway/testkit/is-long-run';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { type Stack, startStack } from '../testing/start-stack.ts';
import { TEXT_PROTOCOLS, type TextProtocolName as TextProtocol } from '../testing/text-pairs.ts';

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
  TEXT_PROTOCOLS.map((protocol) => [
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

/** What the providers answer instead, by their paths. */
const answers = new Map<string, { readonly whole: string; readonly stream: string }>();

/** What the providers got, as it was sent. */
const sent: string[] = [];
/** The bytes of bodies in memory when a provider had got its request. */
let bytesInFlight = 0;
/** The longest JSON that was parsed or written here. */
let longest = 0;

let stack: Stack;
const readBytesInFlight = async (): Promise<number> => {
  const page = await stack.text.metrics.registry.metrics();
  return Number(/^gateway_body_bytes_in_flight\S* (\d+)$/m.exec(page)?.[1]);
};

beforeAll(async () => {
  const provider = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (bytes: Buffer) => chunks.push(bytes));
    request.on('end', async () => {
      bytesInFlight = await readBytesInFlight();
      const body = Buffer.concat(chunks).toString();
      sent.push(body);
      const path = request.url ?? '';
      const { whole, stream } = answers.get(path) ??
        WRITTEN[path] ?? { whole: '{"input_tokens":9}', stream: '' };
      const isStream = whole === '' || (body.includes('"stream":true') && stream !== '');
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
${TEXT_PROTOCOLS.map((protocol) => `  ${protocol}: ${channel(protocol)}`).join('\n')}
models:
${TEXT_PROTOCOLS.map((protocol) => `  ${protocol}: { kind: text, routes: [{ channel: ${protocol}, model: another }] }`).join('\n')}
`,
  });
  return () => provider.close();
});
afterAll(() => stack[Symbol.asyncDispose]());
beforeEach(() => {
  answers.clear();
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
const list = (count: number, one: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => one(at)).join(',');
const LONG = text(`"${'lorem ipsum '.repeat(50_000)}"`);
const partType = (caller: TextProtocol) => (caller === 'responses' ? 'input_text' : 'text');
/** Conversations that are large in one way each, as JSON. */
const SHAPES: Readonly<Record<string, (caller: TextProtocol) => string>> = {
  bytes: () => LONG,
  escapes: () => text(`"${'\\"'.repeat(300_000)}"`),
  items: () => list(4000, (at) => text(`"text ${at}"`)),
  parts: (caller) => text(`[${list(6000, (at) => `{"type":"${partType(caller)}","text":"part ${at}"}`)}]`),
};
/** Of objects within each other. */
const nested = (depth: number): string =>
  `{"type":"object","properties":${'{"a":{"type":"object","properties":'.repeat(depth)}{}${'}}'.repeat(depth)}}`;
const TOOLS: Readonly<Record<TextProtocol, (schema: string) => string>> = {
  responses: (schema) => `[{"type":"function","name":"f","strict":false,"parameters":${schema}}]`,
  messages: (schema) => `[{"name":"f","input_schema":${schema}}]`,
  chat: (schema) => `[{"type":"function","function":{"name":"f","parameters":${schema}}}]`,
};
const turns = (shape: string, after: string) => `[${shape},${text(`"${LAST}"`)}${after}]`;
const bodyOf = (caller: TextProtocol, model: string, shape: string, members = '', after = '') =>
  `{"model":"${model}",${caller === 'responses' ? '"input"' : '"messages"'}:${turns(shape, after)}${
    caller === 'messages' ? ',"max_tokens":100' : ''
  }${members}}`;

const CASES = TEXT_PROTOCOLS.flatMap((caller) =>
  TEXT_PROTOCOLS.flatMap((upstream) =>
    Object.keys(SHAPES).flatMap((shape) =>
      [false, true].map((streamed) => [caller, upstream, shape, streamed] as const),
    ),
  ),
);

/** Five is no divisor of how many ways there are: of each pair another one, and each way with several pairs. */
const PART = 5;

test.for(everyNth(CASES, PART))(
  '%s over %s, large by its %s, streamed %s',
  async ([caller, upstream, shape, streamed]) => {
    const body = bodyOf(caller, upstream, SHAPES[shape]?.(caller) ?? '', `,"stream":${streamed}`);
    const reply = await stack.text.fetch(PATHS[caller], { body });
    expect(await reply.text()).toContain('yes');
    expect(reply.status).toBe(200);
    expect(longest).toBeLessThan(MAX_CHARACTERS);
    expect(sent).toHaveLength(1);
    expect(sent[0]).toContain(LAST);
    expect(sent[0]).toContain('"model":"another"');
    expect(sent[0]?.length).toBeGreaterThan(body.length / 2);
    // What the thread has written counts beside what came.
    expect(bytesInFlight).toBe(body.length + (sent[0]?.length ?? 0));
  },
);

const PAIRS = TEXT_PROTOCOLS.flatMap((caller) =>
  TEXT_PROTOCOLS.map((upstream) => [caller, upstream] as const),
);

test.for(PAIRS)('%s over %s, large and nested', async ([caller, upstream]) => {
  const ask = (depth: number) => {
    const tools = TOOLS[caller](nested(depth));
    return stack.text.fetch(PATHS[caller], { body: bodyOf(caller, upstream, LONG, `,"tools":${tools}`) });
  };
  expect((await ask(50)).status).toBe(200);
  expect(sent[0]).toContain(nested(50));
  expect((await ask(100)).status).toBe(400);
  expect(sent).toHaveLength(1);
  expect(longest).toBeLessThan(MAX_CHARACTERS);
});

/** The id of an answer or of a conversation. */
const made = async (path: string, body: string): Promise<string> => {
  const reply = await stack.text.fetch(path, { body, headers: { 'anthropic-beta': THREADS } });
  const answer = await reply.text();
  expect(reply.status, answer).toBe(200);
  return /"id": ?"([a-z]+_[^"]+)"/.exec(answer)?.[1] ?? '';
};
const THREADS = 'message-threads-2026-08-12';
const shown = async (path: string): Promise<string> => {
  const reply = await stack.text.fetch(path);
  expect(reply.status).toBe(200);
  return reply.text();
};
/** What is continued is known by its bytes and its items: less than half a megabyte of small values is read at once. */
const CONTINUED = Object.keys(SHAPES).filter((shape) => shape !== 'parts');
const SHAPES_OVER = TEXT_PROTOCOLS.flatMap((upstream) =>
  CONTINUED.map((shape) => [shape, upstream] as const),
);

test.for(SHAPES_OVER)('stored, listed and continued, large by its %s, over %s', async ([shape, upstream]) => {
  const large = SHAPES[shape]?.('responses') ?? '';
  const first = await made('/v1/responses', bodyOf('responses', upstream, large));
  const page = await shown(`/v1/responses/${first}/input_items?order=asc&limit=2`);
  expect(page).toMatch(shape === 'items' ? /text 1/ : new RegExp(LAST));
  await made('/v1/responses', `{"model":"${upstream}","input":"and?","previous_response_id":"${first}"}`);
  expect(longest).toBeLessThan(MAX_CHARACTERS);
  for (const said of [LAST, 'yes', 'and?']) expect(sent[1]).toContain(said);
  expect(sent[1]?.length).toBeGreaterThan(large.length / 2);
});

test.for(SHAPES_OVER)('as a thread, large by its %s, over %s', async ([shape, upstream]) => {
  const large = SHAPES[shape]?.('messages') ?? '';
  const begin = bodyOf('messages', upstream, large, ',"thread":{"type":"create"}');
  const goOn = (id: string) => `,"thread":{"type":"continue","previous_message_id":"${id}"}`;
  const first = await made('/v1/messages', begin);
  const second = await made('/v1/messages', bodyOf('messages', upstream, text('"and?"'), goOn(first)));
  await made('/v1/messages', bodyOf('messages', upstream, large, goOn(second)));
  expect(longest).toBeLessThan(MAX_CHARACTERS);
  // Its channel has the thread, and gets the turn alone.
  const earlier = upstream === 'messages' ? [] : ['yes', 'and?'];
  for (const said of [LAST, ...earlier]) expect(sent[2]).toContain(said);
  expect(sent[2]?.length).toBeGreaterThan(large.length);
});

test.for(TEXT_PROTOCOLS)('as a thread with large instructions and tools, over %s', async (upstream) => {
  const tools = `[{"name":"f","description":"${'lorem ipsum '.repeat(50_000)}","input_schema":{"type":"object"}}]`;
  const members = `,"system":"${'dolor sit '.repeat(60_000)}","tools":${tools}`;
  const goOn = (id: string) => `,"thread":{"type":"continue","previous_message_id":"${id}"}`;
  const began = bodyOf('messages', upstream, text('"one"'), `${members},"thread":{"type":"create"}`);
  const first = await made('/v1/messages', began);
  const second = await made('/v1/messages', bodyOf('messages', upstream, text('"two"'), goOn(first)));
  await made('/v1/messages', bodyOf('messages', upstream, text('"three"'), goOn(second)));
  expect(longest).toBeLessThan(MAX_CHARACTERS);
  expect(sent).toHaveLength(3);
  const shown =
    upstream === 'messages' ? ['three'] : ['one', 'yes', 'two', 'three', 'dolor sit', 'lorem ipsum'];
  for (const said of shown) expect(sent[2]).toContain(said);
});

test('as a conversation, filled by requests of its own and by a response', async () => {
  const item = `{"type":"message","role":"user","content":"${'lorem ipsum '.repeat(50_000)}"}`;
  const id = await made('/v1/conversations', `{"items":[${item}],"metadata":{"of":"a test"}}`);
  const added = await stack.text.fetch(`/v1/conversations/${id}/items`, { body: `{"items":[${item}]}` });
  expect(added.status).toBe(200);
  const [itemId] = /msg_[0-9a-zA-Z]+/.exec(await added.text()) ?? [];
  await made('/v1/responses', bodyOf('responses', 'chat', LONG, `,"conversation":"${id}"`));
  expect((await shown(`/v1/conversations/${id}/items`)).match(/lorem ipsum lorem/g)?.length).toBeGreaterThan(
    2,
  );
  expect(await shown(`/v1/conversations/${id}/items/${itemId}`)).toContain('lorem ipsum');
  expect(longest).toBeLessThan(MAX_CHARACTERS);
  const refused = await stack.text.fetch('/v1/conversations', { body: `{"items":[${item}],"metadata":7}` });
  expect(refused.status).toBe(400);
});

test.for(SHAPES_OVER.filter(([, upstream]) => upstream !== 'messages'))(
  'in the background, large by its %s, over %s',
  async ([shape, upstream]) => {
    const worker = await stack.text.startWorker();
    const large = SHAPES[shape]?.('responses') ?? '';
    const id = await made('/v1/responses', bodyOf('responses', upstream, large, ',"background":true'));
    const answer = await waitFor(async () => {
      const body = await shown(`/v1/responses/${id}`);
      return /"status": ?"completed"/.test(body) && body;
    });
    expect(answer).toContain('yes');
    expect(longest).toBeLessThan(MAX_CHARACTERS);
    expect(sent[0]).toContain(LAST);
    expect(sent[0]).not.toContain('"background"');
    expect(sent[0]?.length).toBeGreaterThan(large.length / 2);
    // The file of its body ends with its job.
    const folder = join(stack.text.dataDir, 'uploads');
    await waitFor(async () => (await readdir(folder)).length === 0);
    await worker.close({ drainTimeoutMs: 0 });
  },
);

/** Answers that are large in one way each, as their providers write them whole. */
const LARGE_TEXTS = {
  bytes: ['lorem ipsum '.repeat(50_000)],
  escapes: ['"\n'.repeat(200_000)],
  parts: Array.from({ length: 9000 }, (_, at) => `part ${at} of a long answer, one of many small ones of it`),
} as const;
const END = 'the end of it';
const WRITING: Readonly<Record<TextProtocol, (texts: readonly string[]) => object>> = {
  responses: (texts) => ({
    ...response,
    output: texts.map((one, at) => ({
      ...message,
      id: `msg_up_${at}`,
      content: [{ type: 'output_text', text: one, annotations: [] }],
    })),
  }),
  messages: (texts) => ({
    ...claude,
    id: 'msg_01AbCdEfGhIjKl',
    content: texts.map((one) => ({ type: 'text', text: one })),
    stop_reason: 'end_turn',
  }),
  chat: (texts) => ({
    ...ANSWERS.chat.whole,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: texts.at(-1),
          ...(texts.length > 2 && {
            tool_calls: texts.map((one, at) => ({
              id: `call_${at}`,
              type: 'function',
              function: { name: 'f', arguments: JSON.stringify({ one }) },
            })),
          }),
          ...(texts.length === 2 && { reasoning_content: texts[0] }),
        },
        finish_reason: 'stop',
      },
    ],
  }),
};
const REPLIES = TEXT_PROTOCOLS.flatMap((caller) =>
  TEXT_PROTOCOLS.flatMap((upstream) =>
    Object.entries(LARGE_TEXTS).flatMap(([shape, texts]) =>
      [false, true].map((streamed) => ({ caller, upstream, shape, texts, streamed })),
    ),
  ),
);

test.for(everyNth(REPLIES, PART))(
  '$caller over $upstream, an answer that is large by its $shape, to a caller who streams: $streamed',
  async ({ caller, upstream, texts, streamed }) => {
    answers.set(PATHS[upstream], {
      whole: JSON.stringify(WRITING[upstream]([...texts, END])),
      stream: '',
    });
    longest = 0;
    const body = bodyOf(caller, upstream, text('"hi"'), `,"stream":${streamed}`);
    const reply = await stack.text.fetch(PATHS[caller], { body });
    const answer = await reply.text();
    expect(reply.status, answer.slice(0, 300)).toBe(200);
    expect(answer).toContain(END);
    expect(answer.length).toBeGreaterThan(500_000);
    expect(longest).toBeLessThan(MAX_CHARACTERS);
    const read = streamed ? answer : JSON.stringify(JSON.parse(answer));
    if (caller === upstream && caller !== 'responses' && !streamed)
      expect(read).toBe(JSON.stringify(WRITING[upstream]([...texts, END])));
  },
);

interface StreamedEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}
const sse = (events: readonly StreamedEvent[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

/** A stream of Responses whose last event is large; with the items before it, or without them. */
const streamOf = (texts: readonly string[], isGathered: boolean): string => {
  const whole = Object(WRITING.responses(texts));
  whole.id = `resp_${randomUUID()}`;
  for (const item of whole.output) item.id = `msg_${randomUUID()}`;
  const events: readonly StreamedEvent[] = [
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } },
    ...(isGathered
      ? whole.output.map((item: unknown, at: number) => ({
          type: 'response.output_item.done',
          output_index: at,
          item,
        }))
      : []),
    { type: 'response.completed', response: whole },
  ];
  return sse(events);
};

test.for([
  ['parts', true],
  ['parts', false],
  ['escapes', false],
] as const)(
  'a last event that is large by its %s passes and is stored, its items before it: %s',
  async ([shape, isGathered]) => {
    answers.set(PATHS.responses, { whole: '', stream: streamOf([...LARGE_TEXTS[shape], END], isGathered) });
    longest = 0;
    const first = await made(
      '/v1/responses',
      bodyOf('responses', 'responses', text('"hi"'), ',"stream":true'),
    );
    answers.clear();
    await made('/v1/responses', `{"model":"chat","input":"and?","previous_response_id":"${first}"}`);
    expect(longest).toBeLessThan(MAX_CHARACTERS);
    for (const said of ['hi', END, 'and?']) expect(sent[1]).toContain(said);
  },
);

test.for([
  ['of its own', randomUUID],
  // The caller has had them by the second request.
  ['that come again', () => '1'],
] as const)(
  'a large last event that says failed is stored as its caller gets it, by ids %s',
  async ([, idOf]) => {
    const error = { code: 'server_error', message: 'No, not now.' };
    const ids: unknown[] = [];
    for (const _ of ['first', 'second']) {
      const whole = Object(WRITING.responses([...LARGE_TEXTS.bytes, END]));
      whole.id = `resp_${idOf()}`;
      for (const [at, item] of whole.output.entries()) item.id = `msg_${idOf()}_${at}`;
      const item = { ...message, id: whole.output[0].id };
      answers.set(PATHS.responses, {
        whole: '',
        stream: sse([
          { type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } },
          { type: 'response.output_item.done', output_index: 0, item },
          { type: 'response.completed', response: { ...whole, status: 'failed', error } },
        ]),
      });
      const reply = await stack.text.fetch(PATHS.responses, {
        body: bodyOf('responses', 'responses', text('"hi"'), ',"stream":true'),
      });
      const failed = (await collectSse(reply)).find(({ event }) => event === 'response.failed');
      const { id, output } = Object(failed?.json).response;
      ids.push(id);
      expect(output).toMatchObject([{ content: [{ text: 'yes' }] }]);
      expect(JSON.parse(await shown(`/v1/responses/${id}`))).toMatchObject({ id, status: 'failed', output });
    }
    expect(new Set(ids).size).toBe(2);
  },
);

const COLLECTED = TEXT_PROTOCOLS.flatMap((caller) =>
  TEXT_PROTOCOLS.map((upstream) => ({ caller, upstream })),
);

test.for(COLLECTED)(
  '$caller over $upstream, a large stream that nobody requested is put together',
  async ({ caller, upstream }) => {
    const texts = [...LARGE_TEXTS.parts.slice(0, 2500), END];
    const frames = PROTOCOLS[upstream].replyFrames({ ...WRITING[upstream](texts) }, { hidesUsage: false });
    answers.set(PATHS[upstream], { whole: '', stream: frames?.join('') ?? '' });
    longest = 0;
    const reply = await stack.text.fetch(PATHS[caller], { body: bodyOf(caller, upstream, text('"hi"')) });
    const answer = await reply.text();
    // An event that is large by itself is read here.
    if (upstream === 'messages') expect(longest).toBeLessThan(MAX_CHARACTERS);
    expect(reply.status, answer.slice(0, 300)).toBe(200);
    expect(reply.headers.get('content-type')).toContain('application/json');
    for (const said of [texts[0], END]) expect(answer).toContain(said);
  },
);

test.for(TEXT_PROTOCOLS)('a large answer over %s is stored, shown and continued', async (upstream) => {
  answers.set(PATHS[upstream], {
    whole: JSON.stringify(WRITING[upstream]([...LARGE_TEXTS.bytes, END])),
    stream: '',
  });
  longest = 0;
  const first = await made('/v1/responses', bodyOf('responses', upstream, text('"hi"')));
  expect(await shown(`/v1/responses/${first}`)).toContain(END);
  answers.clear();
  await made('/v1/responses', `{"model":"${upstream}","input":"and?","previous_response_id":"${first}"}`);
  expect(longest).toBeLessThan(MAX_CHARACTERS);
  for (const said of ['hi', END, 'and?']) expect(sent[1]).toContain(said);
});

test.for(TEXT_PROTOCOLS)('a large answer over %s goes on as a thread', async (upstream) => {
  answers.set(PATHS[upstream], {
    whole: JSON.stringify(WRITING[upstream]([...LARGE_TEXTS.bytes, END])),
    stream: '',
  });
  longest = 0;
  const first = await made(
    '/v1/messages',
    bodyOf('messages', upstream, text('"hi"'), ',"thread":{"type":"create"}'),
  );
  answers.clear();
  const goOn = `,"thread":{"type":"continue","previous_message_id":"${first}"}`;
  await made('/v1/messages', bodyOf('messages', upstream, text('"and?"'), goOn));
  expect(longest).toBeLessThan(MAX_CHARACTERS);
  expect(sent[1]).toContain(upstream === 'messages' ? 'and?' : END);
});

test.for(TEXT_PROTOCOLS)(
  'a large reply over %s that is no answer is refused, and charged by what it reports',
  async (upstream) => {
    const { error, ...failed } = {
      ...Object(WRITING[upstream]([...LARGE_TEXTS.bytes])),
      error: { type: 'server_error', code: 'server_error', message: 'No, not now.' },
    };
    for (const written of [JSON.stringify({ ...failed, error }), JSON.stringify(failed).slice(0, -2)]) {
      // As many as so long an answer may have.
      const whole = written.replace(/"(output|completion)_tokens":1\b/, '"$1_tokens":200000');
      answers.set(PATHS[upstream], { whole, stream: '' });
      const reply = await stack.text.fetch(PATHS[upstream], {
        body: bodyOf(upstream, upstream, text('"hi"')),
      });
      expect(reply.status).toBeGreaterThanOrEqual(500);
      expect(await reply.text()).not.toContain('lorem ipsum');
      const requestId = reply.headers.get('x-request-id');
      const line = await waitFor(() => stack.text.lines.find((one) => one.requestId === requestId) ?? false);
      expect(line).toMatchObject({ inputTokens: 9, outputTokens: 200_000 });
    }
  },
);

const edit = (members: string) =>
  `,"context_management":{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":1000}${members}}]}`;
/** Requests that have their conversation compacted, and what their answers show of that. */
const COMPACTIONS = [
  {
    name: 'by the endpoint',
    caller: 'responses',
    path: '/v1/responses/compact',
    members: '',
    shows: '"object":"response.compaction"',
  },
  {
    name: 'above a threshold',
    caller: 'responses',
    path: '/v1/responses',
    members: ',"context_management":[{"type":"compaction","compact_threshold":1000}]',
    shows: '"type":"compaction"',
  },
  {
    name: 'by a trigger',
    caller: 'responses',
    path: '/v1/responses',
    members: ',"stream":true',
    after: ',{"type":"compaction_trigger"}',
    shows: 'event: response.completed',
  },
  {
    name: 'by an edit',
    caller: 'messages',
    path: '/v1/messages',
    members: edit(''),
    shows: '"end_turn"',
  },
  {
    name: 'by an edit that pauses',
    caller: 'messages',
    path: '/v1/messages',
    members: edit(',"pause_after_compaction":true'),
    shows: '"stop_reason":"compaction"',
  },
  {
    name: 'to be summarised',
    caller: 'messages',
    path: '/v1/messages',
    members: ',"compaction":{"type":"summarize"}',
    shows: '"stop_reason":"compaction"',
  },
] as const;
const COMPACTED = COMPACTIONS.flatMap((compaction) =>
  ['bytes', 'items'].map((shape) => ({ after: '', ...compaction, upstream: 'chat', shape })),
);
/** A window keeps the user's latest messages: some 80,000 characters, sealed. */
const MAX_WINDOW = 200_000;

test.for(COMPACTED)(
  'compacted $name, large by its $shape',
  async ({ caller, path, members, after, shows, upstream, shape }) => {
    const large = shape === 'items' ? list(16_000, (at) => text(`"text ${at}"`)) : LONG;
    const conversation = `${large},{"role":"assistant","content":"Noted."}`;
    const body = bodyOf(caller, upstream, conversation, members, after);
    const reply = await stack.text.fetch(path, { body });
    const answer = await reply.text();
    expect(reply.status, answer).toBe(200);
    expect(answer).toContain(shows);
    expect(sent[0]).toContain(LAST);
    expect(sent[0]?.length).toBeGreaterThan(large.length / 2);
    expect(longest).toBeLessThan(MAX_WINDOW);
  },
);

test.for(['chat', 'messages', 'responses'])(
  'over a WebSocket, continued there, over %s',
  async (upstream) => {
    using socket: TestSocket = await stack.text.webSocket();
    for (const shape of CONTINUED.flatMap((name) => SHAPES[name] ?? [])) {
      sent.length = 0;
      const body = bodyOf(
        'responses',
        upstream,
        shape('responses'),
        ',"type":"response.create","store":false',
      );
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
