import { once } from 'node:events';
import { createServer } from 'node:http';
import { eventOf, exceptionOf } from '@gateway/simulator/bedrock/event-message';
import { bedrock as bedrockCloud } from '@gateway/simulator/clouds/bedrock';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { startRedis } from '@gateway/testkit/start-redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { aiSdk } from '../testing/clients/ai-sdk.ts';
import { anthropicMessages } from '../testing/clients/anthropic-messages.ts';
import { openaiChat } from '../testing/clients/openai-chat.ts';
import { openaiResponses } from '../testing/clients/openai-responses.ts';
import { LOOP_ANSWER, PNG_BASE64, type TextClient } from '../testing/clients/text-client.ts';
import { startText, type TextUnderTest } from '../testing/start-text.ts';

const AWS_KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-access-key-of-nobody' } as const;
const CLAUDE = 'eu.anthropic.claude-opus-5';
const PROFILE = 'arn:aws:bedrock:eu-central-1:111122223333:application-inference-profile/abc';

let text: TextUnderTest;
let bedrock: Simulator;
let spare: Simulator;
/** A web server with an image at `/image`, and what it was asked for. */
let web: { readonly url: string; readonly asked: string[] };
const resources = new AsyncDisposableStack();

beforeAll(async () => {
  const gate = { region: 'eu-central-1', service: 'bedrock', ...AWS_KEYS, apiKeys: ['bedrock-api-key-1'] };
  bedrock = resources.use(await startSimulator({ cloud: bedrockCloud({ ...gate, endpoint: 'runtime' }) }));
  spare = resources.use(await startSimulator());
  const server = resources.adopt(await startRedis(), (it) => it.close());
  const redis = resources.adopt(new Redis(server.url), (it) => it.disconnect());
  web = await startWeb();
  const channel = (url: string, more = '') =>
    `{ provider: bedrock, region: eu-central-1, baseUrl: "${url}", apiKey: bedrock-api-key-1, ${more} }`;
  const configuration = `
channels:
  bedrock: ${channel(bedrock.url)}
  spare: ${channel(spare.url)}
  guarded: ${channel(bedrock.url, 'guardrail: { id: gr0000000001, version: "2", trace: enabled }')}
  signed: { provider: bedrock, region: eu-central-1, baseUrl: "${bedrock.url}", auth: { type: aws, accessKeyId: ${AWS_KEYS.accessKeyId}, secretAccessKey: ${AWS_KEYS.secretAccessKey} } }
  claude: { provider: anthropic, baseUrl: "${spare.url}", apiKey: k }
models:
  nova: { kind: text, routes: [{ channel: bedrock, model: eu.amazon.nova-2-lite-v1:0 }, { channel: spare, model: us.amazon.nova-2-lite-v1:0, priority: 1 }] }
  alone: { kind: text, routes: [{ channel: bedrock, model: eu.amazon.nova-2-lite-v1:0 }], fallback: { maxAttempts: 1 } }
  llama: { kind: text, routes: [{ channel: bedrock, model: us.meta.llama4-maverick-17b-instruct-v1:0 }] }
  profile: { kind: text, routes: [{ channel: signed, model: "${PROFILE}", speaks: [converse], quirks: { reasoningVendor: anthropic, reasoningRequest: thinking } }] }
  guarded: { kind: text, routes: [{ channel: guarded, model: amazon.nova-lite-v1:0 }] }
  claude: { kind: text, routes: [{ channel: bedrock, model: ${CLAUDE}, speaks: [converse] }, { channel: claude, model: claude-opus-5, priority: 1 }] }
`;
  text = resources.adopt(await startText({ redis, configuration, privateOrigins: [web.url] }), (it) =>
    it.close(),
  );
});
afterAll(() => resources.disposeAsync());

async function startWeb() {
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    if (url === '/image') response.end(Buffer.from(PNG_BASE64, 'base64'));
    else if (url === '/large') response.end(Buffer.alloc(5 * 1024 * 1024 + 1));
    else response.writeHead(404).end();
  });
  resources.defer(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `http://127.0.0.1:${address.port}`, asked };
}
beforeEach(() => {
  bedrock.reset();
  spare.reset();
  web.asked.length = 0;
});

const CLIENTS: Readonly<Record<string, () => TextClient>> = {
  'openai (responses)': () => openaiResponses(text),
  'openai (chat)': () => openaiChat(text),
  anthropic: () => anthropicMessages(text),
  'ai sdk (responses)': () => aiSdk(text, 'responses'),
  'ai sdk (messages)': () => aiSdk(text, 'messages'),
  'ai sdk (chat)': () => aiSdk(text, 'chat'),
};
const CASES = Object.keys(CLIENTS).flatMap((name) => [false, true].map((stream) => ({ name, stream })));
const clientOf = (name: string): TextClient => {
  const client = CLIENTS[name]?.();
  if (client === undefined) throw new Error(`no client ${name}`);
  return client;
};

test.for(CASES)('$name over Converse, streamed: $stream, an image and a text', async ({ name, stream }) => {
  const client = clientOf(name);
  expect(await client.text({ model: 'nova', stream }, 'What is up? 🐳')).toBe('You said: What is up? 🐳');
  const { path } = await bedrock.nextRequest();
  expect(path).toBe(`/model/eu.amazon.nova-2-lite-v1%3A0/converse${stream ? '-stream' : ''}`);
  expect(await client.image({ model: 'nova', stream }, 'What is it?')).toBe('You said: What is it?');
  expect((await bedrock.nextRequest()).text()).toContain(`"bytes":"${PNG_BASE64}"`);
});

test.for(CASES)(
  '$name over Converse, streamed: $stream, two tools at once, with reasoning that comes back',
  async ({ name, stream }) => {
    const { calls, answer } = await clientOf(name).toolLoop({ model: 'nova', stream, thinking: true });
    expect(calls.map((call) => call.name)).toEqual(['get_weather', 'get_time']);
    expect(answer).toBe(LOOP_ANSWER);
    // The AI SDK gives nothing of reasoning back under Chat Completions.
    if (name !== 'ai sdk (chat)') expect(bedrock.requests.at(-1)?.text()).toContain('"reasoningContent"');
  },
);

const showing = (...urls: readonly string[]) => ({
  messages: [
    {
      role: 'user',
      content: [
        ...urls.map((url) => ({ type: 'image', source: { type: 'url', url } })),
        { type: 'text', text: 'What is it?' },
      ],
    },
  ],
});

test('an image by URL is fetched once, however often it is named, and sent by value', async () => {
  const reply = await ask('alone', showing(`${web.url}/image`, `${web.url}/image`));
  expect(reply.status).toBe(200);
  const image = { image: { format: 'png', source: { bytes: PNG_BASE64 } } };
  expect((await bedrock.nextRequest()).json()).toMatchObject({
    messages: [{ role: 'user', content: [image, image, { text: 'What is it?' }] }],
  });
  expect(web.asked).toEqual(['/image']);
});

test('an image by URL beside a large text is fetched too', async () => {
  const { messages } = showing(`${web.url}/image`);
  const system = 'Be brief. '.repeat(60_000);
  const reply = await ask('alone', { system, messages });
  expect(reply.status).toBe(200);
  expect((await bedrock.nextRequest()).text()).toContain(`"bytes":"${PNG_BASE64}"`);
});

test.for([
  ['/missing', 'messages.0.content.0', /could not be fetched: its server answered 404/],
  ['/large', 'messages.0.content.0', /is too large\. It may have at most 5242880 bytes/],
  ['http://127.0.0.1:9/x', 'messages.0.content.0', /could not be fetched: its address is not public/],
] as const)('an image by URL that brings nothing is a 400 that names it: %s', async ([path, at, words]) => {
  const url = path.startsWith('/') ? web.url + path : path;
  const reply = await ask('alone', showing(url));
  const text = await reply.text();
  expect([reply.status, text]).toEqual([path === '/large' ? 413 : 400, expect.stringMatching(words)]);
  expect(text).toContain(at);
  expect(bedrock.requests).toEqual([]);
});

test('a profile by its ARN, signed, and a model that streams no calls, whose whole answer is played as events', async () => {
  const anthropic = clientOf('anthropic');
  for (const stream of [false, true]) {
    const profile = await anthropic.toolLoop({ model: 'profile', stream, thinking: true });
    expect(profile.answer).toBe(LOOP_ANSWER);
    expect(bedrock.requests.at(-1)?.text()).toContain('"reasoningContent"');
    const llama = await anthropic.toolLoop({ model: 'llama', stream, thinking: false });
    expect(llama.answer).toBe(LOOP_ANSWER);
    expect(bedrock.requests.at(-1)?.path).toBe('/model/us.meta.llama4-maverick-17b-instruct-v1%3A0/converse');
  }
});

test.for(CASES)(
  '$name over Converse, streamed: $stream, an answer under a schema',
  async ({ name, stream }) => {
    expect(await clientOf(name).structured({ model: 'nova', stream })).toEqual({
      city: expect.any(String),
      population: expect.any(Number),
    });
  },
);

const Message = z.looseObject({ content: z.array(z.looseObject({})), usage: z.looseObject({}) });
const ask = (model: string, more: object = {}) =>
  text.fetch('/v1/messages', {
    method: 'POST',
    body: JSON.stringify({
      model,
      max_tokens: 2000,
      messages: [{ role: 'user', content: 'Hello' }],
      ...more,
    }),
  });

test("Claude's thinking survives a change from Converse to Anthropic in the middle of a tool loop", async () => {
  const tools = [{ name: 'get_weather', description: 'Weather', input_schema: { type: 'object' } }];
  const first = {
    thinking: { type: 'adaptive' },
    tools,
    messages: [{ role: 'user', content: 'Please use tool get_weather' }],
  };
  const { content } = Message.parse(await (await ask('claude', first)).json());
  const call = content.find(({ type }) => type === 'tool_use');
  const result = { type: 'tool_result', tool_use_id: call?.id, content: 'sunny' };
  bedrock.script({ status: 503 });
  const messages = [...first.messages, { role: 'assistant', content }, { role: 'user', content: [result] }];
  const second = await ask('claude', { ...first, messages });
  expect(second.headers.get('x-gateway-channel')).toBe('claude');
  expect(await second.text()).toContain('The tool answered: sunny');
  expect((await spare.nextRequest()).text()).toContain('"signature":"EqQB');
});

const BINARY = { 'content-type': 'application/vnd.amazon.eventstream' };
const START = eventOf('messageStart', { role: 'assistant' });
const PIECE = eventOf('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Half' } });
const BUSY = exceptionOf('throttlingException', { message: 'Too many tokens, please wait.' });
const corrupt = Buffer.from(PIECE);
corrupt.writeUInt8(corrupt.readUInt8(60) ^ 1, 60);

const raw = (...messages: readonly Buffer[]) => ({
  status: 200,
  headers: BINARY,
  body: Buffer.concat(messages),
});

test.for([
  ['an exception at once', [BUSY]],
  ['an exception before output', [START, BUSY]],
  ['a wrong checksum', [START, corrupt]],
  ['an end within a message', [START, PIECE.subarray(0, 40)]],
] as const)('%s after a 200 leads to the next route', async ([, messages]) => {
  bedrock.script(raw(...messages));
  const reply = await ask('nova', { stream: true });
  expect(reply.headers.get('x-gateway-channel')).toBe('spare');
  expect(await reply.text()).toContain('message_stop');
});

test.for([
  ['an exception', [BUSY], 'rate_limit_error'],
  ['a wrong checksum', [corrupt], 'api_error'],
  ['an end without messageStop', [], 'api_error'],
] as const)(
  "%s after output is the caller's error event, and what came is charged",
  async ([, messages, type]) => {
    bedrock.script(raw(START, PIECE, ...messages));
    const reply = await (await ask('alone', { stream: true })).text();
    expect(reply).toContain('"text":"Half"');
    expect(reply.split('event: ').at(-1)).toContain(`"type":"${type}"`);
    expect(spare.requests).toEqual([]);
  },
);

test('marks of a prompt cache become cache points, and are left out where the model refuses them', async () => {
  const marked = {
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } }] },
    ],
  };
  const kept = await ask('profile', marked);
  expect(kept.headers.get('x-gateway-dropped')).toBe(null);
  const request = await bedrock.nextRequest();
  expect(request.json()).toMatchObject({
    system: [{ text: 'Be brief.' }, { cachePoint: { type: 'default', ttl: '1h' } }],
    messages: [{ role: 'user', content: [{ text: 'Hello' }, { cachePoint: { type: 'default' } }] }],
  });
  const message = 'You invoked an unsupported model or your request did not allow prompt caching.';
  bedrock.script({
    status: 403,
    json: { message },
    headers: { 'x-amzn-errortype': 'AccessDeniedException' },
  });
  const without = await ask('profile', marked);
  expect(without.status).toBe(200);
  expect(without.headers.get('x-gateway-dropped')).toContain('cache_control');
  expect(bedrock.requests.at(-1)?.text()).not.toContain('cachePoint');
});

test('a demanded call is asked for by an instruction where the model takes no such choice, or refuses it', async () => {
  const demanded = {
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [{ name: 'get_weather', input_schema: { type: 'object' } }],
    tool_choice: { type: 'any' },
  };
  const llama = await ask('llama', demanded);
  expect(llama.headers.get('x-gateway-dropped')).toBe('tool_choice');
  expect((await bedrock.nextRequest()).text()).not.toContain('toolChoice');
  bedrock.script({
    status: 400,
    json: {
      message:
        "This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any and try again.",
    },
    headers: { 'x-amzn-errortype': 'ValidationException' },
  });
  const nova = await ask('nova', demanded);
  expect([nova.status, nova.headers.get('x-gateway-dropped')]).toEqual([200, 'tool_choice']);
  expect((await bedrock.nextRequest()).json()).toMatchObject({ toolConfig: { toolChoice: { any: {} } } });
  expect((await bedrock.nextRequest()).text()).not.toContain('toolChoice');
});

test("a channel's guardrail is in the body, and its intervention is a refusal", async () => {
  const answer = {
    output: { message: { role: 'assistant', content: [{ text: 'Blocked.' }] } },
    stopReason: 'guardrail_intervened',
    usage: { inputTokens: 4, outputTokens: 0, totalTokens: 4 },
  };
  bedrock.script({ json: answer });
  const reply: unknown = await (await ask('guarded')).json();
  expect(reply).toMatchObject({ stop_reason: 'refusal', content: [{ type: 'text', text: 'Blocked.' }] });
  expect((await bedrock.nextRequest()).json()).toMatchObject({
    guardrailConfig: { guardrailIdentifier: 'gr0000000001', guardrailVersion: '2', trace: 'enabled' },
  });
});

test.for([
  [{ message: 'Input is too long for requested model.' }, 400, /^prompt is too long/],
  [{ message: 'Value at inferenceConfig.temperature failed' }, 400, /inferenceConfig/],
] as const)('a refusal %j reaches the caller in its own words', async ([json, status, words]) => {
  bedrock.script({ status: 400, json, headers: { 'x-amzn-errortype': 'ValidationException' } });
  const reply = await ask('alone');
  expect(reply.status).toBe(status);
  expect(await reply.json()).toMatchObject({ error: { message: expect.stringMatching(words) } });
});

test('money: what the cache gave and took is counted apart', async () => {
  const reply = await ask('nova', {
    messages: [{ role: 'user', content: 'Hi [[simulate cached-tokens=5 cache-write-tokens=3]]' }],
  });
  const { usage } = Message.parse(await reply.json());
  expect(usage).toMatchObject({ cache_read_input_tokens: 5, cache_creation_input_tokens: 3 });
  expect(bedrock.ledger()['eu.amazon.nova-2-lite-v1:0']).toMatchObject({
    inputTokens: Number(usage.input_tokens) + 8,
    outputTokens: usage.output_tokens,
  });
});

test.for([
  ['guarded', null],
  ['nova', 'true'],
] as const)(
  'tokens of %s are counted at Bedrock, or estimated where it does not count: %s',
  async ([model, estimated]) => {
    const reply = await text.fetch('/v1/messages/count_tokens', {
      method: 'POST',
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello you' }] }),
    });
    expect(await reply.json()).toMatchObject({ input_tokens: expect.any(Number) });
    expect(reply.headers.get('x-gateway-estimated')).toBe(estimated);
  },
);
