import { anthropicAws, foundry } from '@gateway/simulator/clouds/anthropics-paths';
import { bedrock } from '@gateway/simulator/clouds/bedrock';
import { vertex } from '@gateway/simulator/clouds/vertex';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { collectSse } from '@gateway/testkit/collect-sse';
import { startRedis } from '@gateway/testkit/start-redis';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startText, type TextUnderTest } from '../testing/start-text.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-access-key-of-nobody' } as const;
const AWS = `auth: { type: aws, accessKeyId: ${KEYS.accessKeyId}, secretAccessKey: ${KEYS.secretAccessKey} }`;
const KEY = 'a-key-of-the-resource';
const PROFILE = 'arn:aws:bedrock:eu-central-1:111122223333:application-inference-profile/abc';

let text: TextUnderTest;
const resources = new AsyncDisposableStack();
const clouds = new Map<string, Simulator>();

beforeAll(async () => {
  const gate = { ...KEYS, region: 'eu-central-1' } as const;
  const open = async (name: string, cloud?: Parameters<typeof startSimulator>[0]) => {
    const simulator = resources.use(await startSimulator({ refusesUnknown: true, ...cloud }));
    clouds.set(name, simulator);
    return simulator.url;
  };
  const runtime = await open('runtime', {
    cloud: bedrock({ ...gate, service: 'bedrock', endpoint: 'runtime' }),
  });
  const invoke = await open('invoke', {
    cloud: bedrock({ ...gate, service: 'bedrock', endpoint: 'runtime' }),
  });
  const mantle = await open('mantle', {
    cloud: bedrock({ ...gate, service: 'bedrock-mantle', endpoint: 'mantle' }),
  });
  const aws = await open('aws', {
    cloud: anthropicAws({ ...gate, service: 'aws-external-anthropic', workspaceId: 'wrkspc_1' }),
  });
  const google = await open('vertex', {
    cloud: vertex({ project: 'p1', location: 'eu', acceptsToken: (token) => token === KEY }),
  });
  const azure = await open('foundry', {
    cloud: foundry({ apiKeys: [KEY], acceptsToken: () => false, deployments: ['our-opus', 'our-gpt'] }),
  });
  const direct = await open('direct');
  const server = resources.adopt(await startRedis(), (it) => it.close());
  const redis = resources.adopt(new Redis(server.url), (it) => it.disconnect());
  const configuration = `
channels:
  runtime: { provider: bedrock, region: eu-central-1, baseUrl: "${runtime}", ${AWS} }
  invoke: { provider: bedrock, endpoint: invoke, region: eu-central-1, baseUrl: "${invoke}", ${AWS} }
  mantle: { provider: bedrock, endpoint: mantle, region: eu-central-1, baseUrl: "${mantle}", ${AWS} }
  aws: { provider: anthropic-aws, region: eu-central-1, workspaceId: wrkspc_1, baseUrl: "${aws}", ${AWS} }
  vertex: { provider: vertex, project: p1, location: eu, baseUrl: "${google}", headers: { authorization: "Bearer ${KEY}" }, apiKey: unused-here }
  foundry: { provider: foundry, resource: ours, baseUrl: "${azure}", apiKey: ${KEY} }
  direct: { provider: anthropic, baseUrl: "${direct}", apiKey: k }
models:
  runtime: { kind: text, routes: [{ channel: runtime, model: eu.anthropic.claude-opus-5 }] }
  invoke: { kind: text, routes: [{ channel: invoke, model: "${PROFILE}" }], price: { inputPerMTok: 10, outputPerMTok: 20 } }
  invoke-newer: { kind: text, routes: [{ channel: invoke, model: eu.anthropic.claude-opus-4-7 }] }
  mantle: { kind: text, routes: [{ channel: mantle, model: anthropic.claude-opus-5 }] }
  aws: { kind: text, routes: [{ channel: aws, model: claude-opus-5 }] }
  vertex: { kind: text, routes: [{ channel: vertex, model: "claude-opus-4-5@20251101" }] }
  foundry: { kind: text, routes: [{ channel: foundry, model: our-opus, speaks: [messages] }] }
  base: { kind: text, routes: [{ channel: aws, model: claude-opus-5 }], price: { inputPerMTok: 10 } }
  dearer: { kind: text, routes: [{ channel: aws, model: claude-opus-5, priceFactor: 1.1 }, { channel: runtime, model: eu.anthropic.claude-opus-5, priceFactor: 3, priority: 1 }], price: { inputPerMTok: 10 } }
  gpt-runtime: { kind: text, routes: [{ channel: runtime, model: openai.gpt-5.2 }] }
  gpt-mantle: { kind: text, routes: [{ channel: mantle, model: openai.gpt-5.2 }] }
  gpt-foundry: { kind: text, routes: [{ channel: foundry, model: our-gpt }] }
  gemini-vertex: { kind: text, routes: [{ channel: vertex, model: google/gemini-3.1-pro }] }
  moving: { kind: text, routes: [{ channel: runtime, model: eu.anthropic.claude-opus-5 }, { channel: vertex, model: "claude-opus-4-5@20251101", priority: 1 }, { channel: foundry, model: our-opus, speaks: [messages], priority: 2 }] }
  elsewhere: { kind: text, routes: [{ channel: runtime, model: eu.anthropic.claude-opus-5 }, { channel: direct, priority: 1 }] }
`;
  text = resources.adopt(await startText({ redis, configuration }), (it) => it.close());
});
afterAll(() => resources.disposeAsync());
beforeEach(() => {
  for (const cloud of clouds.values()) cloud.reset();
});

const sentTo = async (cloud: string) => {
  const request = await clouds.get(cloud)?.nextRequest();
  if (request === undefined) throw new Error(`${cloud} got nothing`);
  return request;
};

/** As Claude Code writes it: the user as JSON, betas of the day, marks for the prompt cache with a scope. */
const CLAUDE_CODE = {
  max_tokens: 32_000,
  system: [
    { type: 'text', text: 'You are Claude Code.', cache_control: { type: 'ephemeral', scope: 'global' } },
    { type: 'text', text: 'The project.', cache_control: { type: 'ephemeral', ttl: '1h' } },
  ],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } }] },
  ],
  tools: [
    { name: 'Read', description: 'Reads a file', input_schema: { type: 'object' }, strict: true },
    { name: 'Bash', description: 'Runs a command', input_schema: { type: 'object' } },
  ],
  metadata: { user_id: '{"device_id":"d1","account_uuid":"","session_id":"s1"}' },
  thinking: { type: 'adaptive' },
  output_config: { effort: 'high' },
};
const CODE_HEADERS = {
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14,prompt-caching-scope-2026-01-05',
};

const ask = (model: string, more: object = {}, headers: Record<string, string> = CODE_HEADERS) =>
  text.fetch('/v1/messages?beta=true', { body: { model, ...CLAUDE_CODE, ...more }, headers });

const CLAUDES = ['runtime', 'invoke', 'mantle', 'aws', 'vertex', 'foundry'] as const;

test.for(
  CLAUDES.flatMap(
    (cloud) =>
      [
        [cloud, false],
        [cloud, true],
      ] as const,
  ),
)(
  'Claude Code works unmodified over %s (streamed: %s), with its marks for the prompt cache',
  async ([cloud, stream]) => {
    const reply = await ask(cloud, { stream });
    expect(reply.status, await reply.clone().text()).toBe(200);
    if (stream) expect((await collectSse(reply)).at(-1)?.event).toBe('message_stop');
    else expect(await reply.json()).toMatchObject({ type: 'message', content: [{}, { type: 'text' }] });
    const sent = Object((await sentTo(cloud)).json());
    expect(sent.system[1].cache_control).toEqual({ type: 'ephemeral', ttl: '1h' });
    expect(sent.messages[0].content[0].cache_control).toEqual({ type: 'ephemeral' });
    expect(sent.output_config).toEqual({ effort: 'high' });
  },
);

test('what Bedrock refuses is left out and reported, and a user id that it cannot read is hashed', async () => {
  const reply = await ask('runtime');
  expect(reply.headers.get('x-gateway-dropped')).toBe(
    'anthropic-beta.prompt-caching-scope-2026-01-05,system[0].cache_control.scope,tools[0].strict',
  );
  const sent = await sentTo('runtime');
  expect(sent.headers['anthropic-beta']).toBe('claude-code-20250219,interleaved-thinking-2025-05-14');
  expect(Object(sent.json()).metadata).toEqual({ user_id: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(text.lines.at(-1)).toMatchObject({ dropped: reply.headers.get('x-gateway-dropped') });
});

test('a request that fits is passed on byte for byte but for the name of its model', async () => {
  const body = '{"max_tokens": 5,  "model":"runtime", "messages":[{"role":"user","content":"hi"}]}';
  const reply = await text.fetch('/v1/messages', { body, headers: { 'anthropic-version': '2023-06-01' } });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('x-gateway-dropped')).toBe(null);
  expect((await sentTo('runtime')).text()).toBe(body.replace('"runtime"', '"eu.anthropic.claude-opus-5"'));
});

test('under x-gateway-strict what would be left out is an error', async () => {
  const reply = await ask('runtime', {}, { ...CODE_HEADERS, 'x-gateway-strict': 'true' });
  expect(reply.status).toBe(400);
  expect(clouds.get('runtime')?.requests).toHaveLength(0);
});

test('on Vertex AI the model is in the path, the version in the body, and no caller’s query goes along', async () => {
  await ask('vertex', { stream: true });
  const sent = await sentTo('vertex');
  expect(sent.url).toBe(
    '/v1/projects/p1/locations/eu/publishers/anthropic/models/claude-opus-4-5@20251101:streamRawPredict',
  );
  const { model, anthropic_version, stream, tools } = Object(sent.json());
  expect([model, anthropic_version, stream]).toEqual([undefined, 'vertex-2023-10-16', true]);
  expect(sent.headers['anthropic-version']).toBe(undefined);
  expect(tools[0].strict).toBe(true);
});

const SCHEMA = {
  type: 'object',
  properties: { answer: { type: 'string' } },
  required: ['answer'],
  additionalProperties: false,
};

test.for(['runtime', 'invoke', 'mantle', 'vertex', 'aws'] as const)(
  'structured output works over %s',
  async (cloud) => {
    const format = { type: 'json_schema', schema: SCHEMA };
    for (const stream of [false, true]) {
      const reply = await ask(cloud, {
        tools: undefined,
        thinking: undefined,
        stream,
        output_config: { format },
      });
      expect(reply.status, await reply.clone().text()).toBe(200);
      const written = stream
        ? (await collectSse(reply)).map(({ data }) => Object(JSON.parse(data)).delta?.text ?? '').join('')
        : Object(await reply.json()).content[0].text;
      expect(JSON.parse(written)).toEqual({ answer: expect.any(String) });
    }
  },
);

test('a member whose loss would change the answer goes to another route, else it is refused by name', async () => {
  const servers = { mcp_servers: [{ type: 'url', url: 'https://mcp.example.com', name: 'one' }] };
  const reply = await ask('elsewhere', servers);
  expect([reply.status, reply.headers.get('x-gateway-channel')]).toEqual([200, 'direct']);
  const refused = await ask('runtime', servers);
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({
    error: { type: 'invalid_request_error', message: expect.stringContaining('mcp_servers') },
  });
});

test("Anthropic's own tools go to another route, else they are refused by name", async () => {
  const tools = { tools: [{ type: 'web_search_20250305', name: 'web_search' }] };
  const reply = await ask('elsewhere', tools);
  expect([reply.status, reply.headers.get('x-gateway-channel')]).toEqual([200, 'direct']);
  expect((await ask('vertex', tools)).status).toBe(400);
});

const count = (model: string) => {
  const { max_tokens: _, ...body } = CLAUDE_CODE;
  return text.fetch('/v1/messages/count_tokens?beta=true', {
    body: { model, ...body },
    headers: CODE_HEADERS,
  });
};

test.for(['mantle', 'aws', 'vertex', 'foundry'] as const)('%s counts tokens itself', async (cloud) => {
  const reply = await count(cloud);
  expect(reply.status, await reply.clone().text()).toBe(200);
  expect(reply.headers.get('x-gateway-estimated')).toBe(null);
  expect(Object(await reply.json()).input_tokens).toBeGreaterThan(0);
});

test.for(['runtime', 'invoke'])('where %s cannot count, the gateway estimates', async (model) => {
  const reply = await count(model);
  expect([reply.status, reply.headers.get('x-gateway-estimated')]).toEqual([200, 'true']);
});

test.for(CLAUDES)('callers of Responses and Chat Completions reach Claude over %s', async (cloud) => {
  const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' }, strict: false }];
  const response = await text.fetch('/v1/responses', { body: { model: cloud, input: 'Hello', tools } });
  expect(response.status, await response.clone().text()).toBe(200);
  const body = { model: cloud, messages: [{ role: 'user', content: 'Hello' }], stream: true };
  const chat = await text.fetch('/v1/chat/completions', { body });
  expect(chat.status).toBe(200);
  expect((await collectSse(chat)).at(-1)?.data).toBe('[DONE]');
});

test.for(['gpt-runtime', 'gpt-mantle', 'gpt-foundry'] as const)(
  'Codex works unmodified over %s',
  async (model) => {
    const body = {
      model,
      instructions: 'You are Codex.',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
      tools: [
        { type: 'function', name: 'shell', parameters: { type: 'object', properties: {} }, strict: false },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      reasoning: { effort: 'medium', summary: 'auto' },
      store: false,
      stream: true,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'c1',
    };
    const reply = await text.fetch('/v1/responses', { body });
    expect(reply.status, await reply.clone().text()).toBe(200);
    expect((await collectSse(reply)).map(({ event }) => event)).toContain('response.completed');
  },
);

test('other makers’ models on Vertex AI are reached by Chat Completions', async () => {
  const body = { model: 'gemini-vertex', messages: [{ role: 'user', content: 'Hello' }] };
  const reply = await text.fetch('/v1/chat/completions', { body });
  expect(reply.status, await reply.clone().text()).toBe(200);
  expect((await sentTo('vertex')).path).toBe(
    '/v1/projects/p1/locations/eu/endpoints/openapi/chat/completions',
  );
});

test('a conversation with thinking goes from cloud to cloud in the middle of a tool loop', async () => {
  const content = 'Please use tool Bash';
  const first = await ask('moving', { messages: [{ role: 'user', content }] });
  expect(first.headers.get('x-gateway-channel')).toBe('runtime');
  const answer: { content: { type: string; id?: string }[] } = Object(await first.json());
  expect(answer.content.map(({ type }) => type)).toEqual(['thinking', 'tool_use']);
  const call = answer.content.find(({ type }) => type === 'tool_use');
  const messages = [
    { role: 'user', content },
    { role: 'assistant', content: answer.content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: call?.id, content: 'done' }] },
  ];
  const down = { status: 503, json: { message: 'Unavailable' } };
  for (const [next, failing] of [
    ['vertex', ['runtime']],
    ['foundry', ['runtime', 'vertex']],
  ] as const) {
    for (const name of failing) clouds.get(name)?.script(down);
    clouds.get(next)?.reset();
    const reply = await ask('moving', { messages });
    expect([reply.status, reply.headers.get('x-gateway-channel')]).toEqual([200, next]);
    expect(Object((await sentTo(next)).json()).messages[1].content).toEqual(answer.content);
  }
});

test('a call costs what the route that answered charges', async () => {
  const costOf = async (model: string) => {
    await ask(model);
    return text.lines.at(-1);
  };
  const base = Object(await costOf('base'));
  const dearer = Object(await costOf('dearer'));
  expect(base.costMicroUsd).toBe(base.inputTokens * 10);
  expect(dearer.costMicroUsd).toBe(dearer.inputTokens * 11);
});

const INVOKED = `/model/${encodeURIComponent(PROFILE)}/invoke`;
const PLAIN = { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 50 };

test.for([false, true])(
  'by InvokeModel the model and the stream (%s) are in the path, the version and the betas in the body',
  async (stream) => {
    const headers = { ...CODE_HEADERS, accept: 'text/event-stream', 'anthropic-user-profile-id': 'up_1' };
    expect((await ask('invoke', { stream }, headers)).status).toBe(200);
    const sent = await sentTo('invoke');
    expect(sent.url).toBe(stream ? `${INVOKED}-with-response-stream` : INVOKED);
    const {
      model,
      stream: streams,
      anthropic_version,
      anthropic_beta,
      user_profile_id,
    } = Object(sent.json());
    expect([model, streams, anthropic_version]).toEqual([undefined, undefined, 'bedrock-2023-05-31']);
    expect([anthropic_beta, user_profile_id]).toEqual([['interleaved-thinking-2025-05-14'], 'up_1']);
    expect(Object.keys(sent.headers).filter((name) => name.startsWith('anthropic-'))).toEqual([]);
    expect(sent.headers.accept).toBe('application/json');
  },
);

test.for([false, true])(
  'what InvokeModel answers (streamed: %s) is charged by its usage, and shows nothing of AWS',
  async (stream) => {
    const reply = await ask('invoke', { stream });
    const written = await reply.text();
    expect(written).not.toMatch(/amazon|invocationMetrics|111122223333/);
    const { inputTokens, outputTokens, costMicroUsd } = Object(text.lines.at(-1));
    expect(inputTokens).toBeGreaterThan(0);
    expect(costMicroUsd).toBe(inputTokens * 10 + outputTokens * 20);
    expect(written).toContain(`"output_tokens":${outputTokens}`);
  },
);

test('an exception in a stream of InvokeModel ends it as an error, and before any output as a failure', async () => {
  const cloud = clouds.get('invoke');
  cloud?.script({ errorEventAfter: 4 });
  const events = await collectSse(await ask('invoke', { stream: true }));
  expect(events.at(-1)).toMatchObject({ event: 'error', data: expect.stringContaining('api_error') });
  expect(text.lines.at(-1)).toMatchObject({ inputTokens: expect.any(Number) });
  cloud?.script({ errorEventAfter: 0 });
  expect((await ask('invoke', { stream: true })).status).toBe(500);
});

test.for([
  ['invoke-newer', 'context-1m-2025-08-07', 'interleaved-thinking-2025-05-14', []],
  ['vertex', 'effort-2027-01-01', 'interleaved-thinking-2025-05-14', ['interleaved-thinking-2025-05-14']],
] as const)(
  'a beta that %s turns out to refuse costs one more request, and is reported',
  async ([model, unknown, known, kept]) => {
    const cloud = model === 'vertex' ? 'vertex' : 'invoke';
    if (cloud === 'vertex')
      clouds.get(cloud)?.script({
        status: 400,
        json: {
          type: 'error',
          error: {
            type: 'invalid_request_error',
            message: `Unexpected value(s) \`${unknown}\` for the \`anthropic-beta\` header.`,
          },
        },
      });
    const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': `${unknown},${known}` };
    const reply = await text.fetch('/v1/messages', { body: { model, ...PLAIN }, headers });
    expect(reply.status, await reply.clone().text()).toBe(200);
    expect(reply.headers.get('x-gateway-dropped')).toContain(`anthropic-beta.${unknown}`);
    await sentTo(cloud);
    const again = await sentTo(cloud);
    const { anthropic_beta: inBody = [] } = Object(again.json());
    const inHeader = again.headers['anthropic-beta']?.toString().split(',') ?? [];
    expect([...inBody, ...inHeader]).toEqual(kept);
    const strict = { ...headers, 'x-gateway-strict': 'true' };
    if (cloud === 'invoke')
      expect((await text.fetch('/v1/messages', { body: { model, ...PLAIN }, headers: strict })).status).toBe(
        400,
      );
  },
);

test('at Foundry nothing is stored: the gateway stores it, and continues it with its encrypted reasoning', async () => {
  const reasoning = { effort: 'medium' };
  const first = await text.fetch('/v1/responses', {
    body: { model: 'gpt-foundry', input: 'Hello', reasoning },
  });
  const { id, store } = Object(await first.json());
  expect([first.status, store]).toEqual([200, true]);
  const sent = Object((await sentTo('foundry')).json());
  expect([sent.store, sent.include]).toEqual([false, ['reasoning.encrypted_content']]);
  const body = { model: 'gpt-foundry', input: 'Go on', previous_response_id: id, reasoning };
  const second = await text.fetch('/v1/responses', { body });
  expect(second.status, await second.clone().text()).toBe(200);
  const continued = Object((await sentTo('foundry')).json());
  expect(continued.previous_response_id).toBe(undefined);
  expect(JSON.stringify(continued.input)).toMatch(/"encrypted_content":"[^"]/);
  const plain = '{"model":"our-gpt", "input":"Hello", "store":false}';
  await text.fetch('/v1/responses', { body: plain.replace('our-gpt', 'gpt-foundry') });
  expect((await sentTo('foundry')).text()).toBe(plain);
});
