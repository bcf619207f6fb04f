import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ONE_PROVIDER } from './support/configuration.ts';
import { wavFile } from './support/media-files.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

const MAX_JSON_DEPTH = 64;
/** Enough to overflow any stack. */
const DEEP = 100_000;
/** What recursive functions might still come through, or not. */
const FAIRLY_DEEP = 3_000;
/** How often a transcription is tried. */
const ATTEMPTS = 3;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    configuration: (origin) =>
      `${ONE_PROVIDER(origin)}
  at-chat: { kind: text, routes: [{ channel: chat }] }
  at-messages: { kind: text, routes: [{ channel: messages }] }
`.replace(
        'channels:',
        `channels:
  chat: { provider: simulator, baseUrl: "${origin}", speaks: [chat] }
  messages: { provider: simulator, baseUrl: "${origin}", speaks: [messages] }`,
      ),
    env: { MAX_JSON_DEPTH: String(MAX_JSON_DEPTH), IMAGE_JSON_MAX_BYTES: '40000000' },
  });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const lists = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const schemas = (depth: number) => `${'{"properties":{"a":'.repeat(depth)}{}${'}}'.repeat(depth)}`;

/** Good requests of every endpoint that takes JSON, with a place for more members. */
const REQUESTS: Record<string, (more: string) => string> = {
  '/v1/responses': (more) => `{"model":"gpt-5.2","input":"hello",${more}}`,
  '/v1/responses/input_tokens': (more) => `{"model":"gpt-5.2","input":"hello",${more}}`,
  '/v1/messages': (more) =>
    `{"model":"claude-sonnet-5-5","max_tokens":10,"messages":[{"role":"user","content":"hello"}],${more}}`,
  '/v1/messages/count_tokens': (more) =>
    `{"model":"claude-sonnet-5-5","messages":[{"role":"user","content":"hello"}],${more}}`,
  '/v1/chat/completions': (more) =>
    `{"model":"gpt-5.2","messages":[{"role":"user","content":"hello"}],${more}}`,
  '/v1/images/generations': (more) => `{"model":"dall-e-3","prompt":"a house",${more}}`,
  '/v1/audio/speech': (more) => `{"model":"tts-1","voice":"alloy","input":"hello",${more}}`,
};

const headers = { 'content-type': 'application/json' };
const send = (path: string, body: string) => gateway.fetch(path, { body, headers });

async function expectTooDeep(response: Response, path: string): Promise<void> {
  expect(response.status, path).toBe(400);
  const type = 'invalid_request_error';
  const message = expect.stringContaining('nested too deeply');
  expect(await response.json()).toMatchObject(
    path.startsWith('/v1/messages')
      ? { type: 'error', error: { type, message } }
      : { error: { type, message, param: null, code: null } },
  );
}

test.for(Object.entries(REQUESTS))(
  'deep JSON in a member that the gateway does not know is a 400 in its protocol: %s',
  async ([path, bodyWith]) => {
    for (const depth of [MAX_JSON_DEPTH, FAIRLY_DEEP, DEEP])
      await expectTooDeep(await send(path, bodyWith(`"unknown":${lists(depth)}`)), path);
    expect(gateway.simulator.requests).toEqual([]);
    const within = await send(path, bodyWith(`"unknown":${lists(MAX_JSON_DEPTH - 1)}`));
    expect(within.status, await within.text()).toBe(200);
  },
);

test.for(['gpt-5.2', 'at-chat', 'at-messages'])(
  'a deep tool schema is a 400, passed through or translated: %s',
  async (model) => {
    for (const depth of [MAX_JSON_DEPTH, FAIRLY_DEEP, DEEP]) {
      const tool = `{"type":"function","name":"f","parameters":${schemas(depth)}}`;
      const body = `{"model":"${model}","input":"hello","tools":[${tool}]}`;
      await expectTooDeep(await send('/v1/responses', body), '/v1/responses');
    }
    expect(gateway.simulator.requests).toEqual([]);
  },
);

test('16 MB of nested lists are a 400', async () => {
  for (const [path, bodyWith] of Object.entries(REQUESTS))
    await expectTooDeep(await send(path, bodyWith(`"unknown":${lists(8_000_000)}`)), path);
});

test('deep JSON in a part of a form is a 400', async () => {
  const body = new FormData();
  body.append('model', 'whisper-1');
  body.append('chunking_strategy', `{"type":"server_vad","unknown":${lists(FAIRLY_DEEP)}}`);
  body.append('file', wavFile(1));
  await expectTooDeep(await gateway.fetch('/v1/audio/transcriptions', { body }), '/v1/audio/transcriptions');
});

test('deep JSON is a 400 at the admin service', async () => {
  const { adminUrl, adminToken } = gateway.stack;
  for (const body of [
    `{"name":"one","labels":${lists(DEEP)}}`,
    lists(DEEP),
    `{"name":${lists(MAX_JSON_DEPTH)}}`,
  ]) {
    const response = await fetch(`${adminUrl}/admin/v1/keys`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${adminToken}` },
      body,
    });
    expect(response.status).toBe(400);
    const message = expect.stringContaining('nested too deeply');
    expect(await response.json()).toEqual({ error: { code: 'invalid_json', message, path: null } });
  }
});

test('deep JSON as the text of a tool call reaches a provider as that text', async () => {
  const text = `{"a":${lists(DEEP)}}`;
  const input = [
    { type: 'message', role: 'user', content: 'hello' },
    { type: 'function_call', call_id: 'call_1', name: 'f', arguments: text },
    { type: 'function_call_output', call_id: 'call_1', output: 'done' },
  ];
  for (const model of ['at-chat', 'at-messages']) {
    const response = await gateway.fetch('/v1/responses', { json: { model, input } });
    expect(response.status, await response.text()).toBe(200);
    expect((await gateway.simulator.nextRequest()).body.toString()).toContain(JSON.stringify(text));
  }
});

const REPLIES: Record<string, string> = {
  responses: `{"id":"resp_1","object":"response","status":"completed","output":[],"unknown":${lists(DEEP)}}`,
  chat: `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"a","unknown":${lists(DEEP)}},"finish_reason":"stop"}]}`,
  messages: `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":${lists(DEEP)}}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`,
};

test.for([
  ['gpt-5.2', REPLIES.responses],
  ['at-chat', REPLIES.chat],
  ['at-messages', REPLIES.messages],
] as const)("a provider's deep reply is the provider's failure: %s", async ([model, text = '']) => {
  gateway.simulator.script({ headers, body: text });
  const response = await gateway.fetch('/v1/responses', { json: { model, input: 'hello' } });
  expect(await response.json()).toMatchObject({ error: { type: 'server_error', code: 'upstream_error' } });
  expect(response.status).toBe(502);
});

test("a provider's deep reply with images or a transcript is the provider's failure", async () => {
  gateway.simulator.script({ headers, body: `{"created":1,"data":[],"unknown":${lists(DEEP)}}` });
  const made = await gateway.fetch('/v1/images/generations', {
    json: { model: 'dall-e-3', prompt: 'a house' },
  });
  expect(made.status, await made.text()).toBe(502);

  gateway.simulator.reset();
  const transcript = { headers, body: `{"text":"hello","usage":{"a":${lists(DEEP)}}}` };
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) gateway.simulator.script(transcript);
  const body = new FormData();
  body.append('model', 'gpt-4o-transcribe');
  body.append('file', wavFile(1));
  const heard = await gateway.fetch('/v1/audio/transcriptions', { body });
  expect(heard.status, await heard.text()).toBe(502);
});
