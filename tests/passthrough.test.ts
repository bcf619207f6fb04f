import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createGate } from '@gateway/simulator/gate';
import { recordedStream, recordedStreamNames } from '@gateway/simulator/recorded-stream';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { PROVIDER_KEY } from './support/configuration.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** Through edge and text, where caller and channel speak the same protocol, no byte changes on its way. */

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ services: ['edge', 'text'], env: { TEXT_KEEP_ALIVE_MS: '0' } });
});
afterAll(() => gateway?.close());
beforeEach(() => gateway.simulator.reset());

const PATHS = { responses: '/v1/responses', messages: '/v1/messages?beta=true' } as const;
type Protocol = keyof typeof PATHS;
const PROTOCOLS = ['responses', 'messages'] as const;

/** Odd, and right: white space, escapes, unknown members, numbers that would not survive parsing. */
const ODD = {
  responses: `{ "model" :\t"gpt-5.2",\r\n "input":"h\\u00e9 \\/ 🐳 \\ud83d\\udc33","unknown":{"model":"x","n":1.0e2,
    "big":123456789012345678901234567890}, "unknown2":null,"metadata":{"a":"1"}, "stream":false }  `,
  messages: `{"messages":[{"role":"user","content":"h\\u00e9 🐳"}],"max_tokens":5,"model":"claude-sonnet-5-5",
    "system":[{"type":"text","text":" ","cache_control":{"type":"ephemeral"}}],"new":{"n":-0,"big":1e400},"new2":[ ]}\n`,
} as const;

const STREAMED = {
  responses: '{"model":"gpt-5.2","input":"x","stream":true}',
  messages:
    '{"model":"claude-sonnet-5-5","max_tokens":9,"messages":[{"role":"user","content":"x"}],"stream":true}',
} as const;

const post = (protocol: Protocol, body: NonNullable<RequestInit['body']>, init: RequestInit = {}) =>
  gateway.fetch(PATHS[protocol], {
    body,
    ...init,
    headers: { 'content-type': 'application/json' },
  });

test.for(PROTOCOLS)('%s: the provider gets the very bytes that the caller sent', async (protocol) => {
  const response = await post(protocol, ODD[protocol]);
  expect(response.status, await response.text()).toBe(200);
  expect((await gateway.simulator.nextRequest()).text()).toBe(ODD[protocol]);
});

test.for([
  [
    'responses',
    '{"previous_response_id":"resp_of_another","previous_response_id":null,"model":"gpt-5.2","input":"x"}',
  ],
  ['responses', '{"model":"gpt-5.2","store":true,"input":"x","store":false}'],
  [
    'responses',
    String.raw`{"model":"gpt-5.2","input":[{"type":"item_reference","id":"msg_1","\u0069d":"msg_2"}]}`,
  ],
  ['messages', '{"model":"claude-sonnet-5-5","model":"claude-opus-5","max_tokens":5,"messages":[]}'],
] as const)(
  '%s: a member that stands twice reaches no provider, which might read the other one',
  async ([protocol, body]) => {
    const response = await post(protocol, body);
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('more than once'),
    ]);
    expect(gateway.simulator.requests).toEqual([]);
  },
);

test.for(PROTOCOLS)('%s: also where they come one by one', async (protocol) => {
  const bytes = Array.from(new TextEncoder().encode(ODD[protocol]), (byte) => new Uint8Array([byte]));
  await post(protocol, ReadableStream.from(bytes), { duplex: 'half' });
  expect((await gateway.simulator.nextRequest()).text()).toBe(ODD[protocol]);
});

test('a long agent request arrives as it was sent', async () => {
  const tools = Array.from({ length: 60 }, (_, index) => ({
    name: `tool_${index}`,
    description: 'What it does. '.repeat(120),
    input_schema: { type: 'object', properties: {} },
  }));
  const sent = `{"tools":${JSON.stringify(tools)},${STREAMED.messages.slice(1)}`;
  expect(sent.length).toBeGreaterThan(100_000);
  await post('messages', sent);
  expect((await gateway.simulator.nextRequest()).text() === sent).toBe(true);
});

test('where the channel has another name for the model, that name alone changes', async () => {
  await post('responses', ODD.responses.replace('gpt-5.2', 'alias'));
  expect((await gateway.simulator.nextRequest()).text()).toBe(ODD.responses);
});

test.for(PROTOCOLS)('%s: the caller gets the very bytes that the provider sent', async (protocol) => {
  const body = `{ "id":"x_1" ,"h\\u00e9":"🐳","n":1.0e2,"n":1e400,\r\n"usage":{"input_tokens":1,"output_tokens":1} }\n`;
  gateway.simulator.script({ body, headers: { 'content-type': 'application/json' } });
  const response = await post(protocol, ODD[protocol]);
  expect(await response.text()).toBe(body);
});

const protocolOf = (name: string): Protocol => (name.startsWith('responses') ? 'responses' : 'messages');

test.for(
  recordedStreamNames().flatMap((name) =>
    (['whole', 'bytes', 'events'] as const).map((cuts) => [name, cuts] as const),
  ),
)('the stream %s, sent as %s, reaches the caller byte for byte', async ([name, cuts]) => {
  const sse = recordedStream(name);
  gateway.simulator.script({ sse, cuts });
  const protocol = protocolOf(name);
  const response = await post(protocol, STREAMED[protocol]);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(await response.text()).toBe(sse.toString());
});

test.for([
  ['responses-text', 5],
  ['messages-text', 4],
] as const)(
  'the stream %s: from the first output on every event reaches the caller before the next one is sent, up to the one that ends it',
  async ([name, firstOutput]) => {
    const protocol = protocolOf(name);
    const sse = recordedStream(name);
    const events = sse.toString().split(/(?<=\n\n)/);
    // The event that ends the answer goes out with what follows it: the request has given back by then.
    for (let count: number = firstOutput; count < events.length - 1; count += 1) {
      const gate = createGate();
      gateway.simulator.script({ sse, stallAfter: count, resume: gate.opened });
      const response = await post(protocol, STREAMED[protocol]);
      const expected = events.slice(0, count).join('');
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let seen = '';
      while (seen.length < expected.length) seen += (await reader?.read())?.value ?? '';
      expect(seen).toBe(expected);
      gate.open();
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
        seen += part.value;
      expect(seen).toBe(sse.toString());
    }
  },
);

test('comments, pings, unknown events and all line ends pass', async () => {
  const sse =
    ': hello\r\n\r\nevent: message_start\r\ndata: {"type":"message_start","message":{"id":"msg_1"}}\r\n\r\n' +
    'event: ping\ndata: {"type": "ping"}\n\nid: 5\nevent: brand_new\ndata: {"type":"brand_new",\ndata: "a":1}\n\n' +
    'retry: 5\n\nevent: message_stop\ndata: {"type":"message_stop"}\n';
  // Strict parsers take an event only with its empty line.
  const whole = `${sse}\n`;
  for (const cuts of ['whole', 'bytes', [3, 40, 41, 90]] as const) {
    gateway.simulator.script({ sse, cuts });
    expect(await (await post('messages', STREAMED.messages)).text()).toBe(whole);
  }
});

test("the provider gets the protocol's headers, also new ones, and nothing else of the caller's", async () => {
  const call = httpRequest(`${gateway.url}/v1/messages?beta=true&x=%2F+y&x=`, {
    method: 'POST',
    headers: {
      'X-Api-Key': gateway.key,
      'Content-Type': 'application/json; charset=utf-8',
      'Anthropic-Version': '2026-10-21',
      'Anthropic-Beta': ['one-2025-01-01', 'brand-new-2027-01-01'],
      'Anthropic-Something-New': 'é',
      'X-Unknown': 'not for providers',
      'User-Agent': 'caller/1',
      'X-Stainless-Retry-Count': '0',
      Cookie: 'of=the caller',
      'X-Forwarded-For': '10.0.0.1',
      'X-Gateway-Identity': 'forged',
      'X-Request-Id': 'my-own-request-id',
      'Accept-Encoding': 'gzip',
      Accept: 'application/json',
    },
  });
  // Bytes: Node would send headers and a string together as UTF-8.
  call.end(Buffer.from(STREAMED.messages.replace('true', 'false')));
  const [response]: IncomingMessage[] = await once(call, 'response');
  response?.resume();
  const { url, headers } = await gateway.simulator.nextRequest();
  expect(url).toBe('/v1/messages?beta=true&x=%2F+y&x=');
  expect(headers).toEqual({
    host: new URL(gateway.simulator.url).host,
    connection: 'keep-alive',
    authorization: `Bearer ${PROVIDER_KEY}`,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(STREAMED.messages) + 1),
    'anthropic-version': '2026-10-21',
    'anthropic-beta': 'one-2025-01-01, brand-new-2027-01-01',
    'anthropic-something-new': 'é',
    'user-agent': 'caller/1',
    accept: 'application/json',
    'accept-encoding': 'identity',
  });
  expect(response?.headers['x-request-id']).toBe('my-own-request-id');
});

test('a bearer key needs no version: the provider gets the first one', async () => {
  await post('messages', ODD.messages);
  expect((await gateway.simulator.nextRequest()).headers['anthropic-version']).toBe('2023-06-01');
});

test("the caller gets the protocol's headers of the provider's, and the gateway's own", async () => {
  gateway.simulator.script({
    json: { id: 'resp_1' },
    headers: {
      'openai-version': '2020-10-01',
      'openai-new': 'yes',
      'x-codex-turn-state': 'abc',
      'x-request-id': 'req_of_the_provider',
      'openai-organization': 'org-secret',
      'set-cookie': 'a=b',
      server: 'cloud',
    },
  });
  const response = await post('responses', ODD.responses);
  const headers = Object.fromEntries(response.headers);
  expect(headers).toEqual({
    connection: 'keep-alive',
    'content-length': '15',
    'content-type': 'application/json',
    date: expect.any(String),
    'openai-version': '2020-10-01',
    'openai-new': 'yes',
    'openai-processing-ms': '1',
    'x-codex-turn-state': 'abc',
    'x-gateway-channel': 'provider',
    'x-gateway-attempts': expect.stringMatching(/^"provider";outcome=ok;status=200;ms=\d+$/),
    'x-request-id': expect.stringMatching(/^req_[0-9a-f]{32}$/),
    'request-id': headers['x-request-id'],
    'keep-alive': expect.any(String),
  });
});

test("an Anthropic provider's refusal is relayed word for word", async () => {
  const body = '{ "type":"error","error":{"type":"invalid_request_error","message":"thinking: é"},"new":1 }';
  gateway.simulator.script({ status: 400, body, headers: { 'content-type': 'application/json' } });
  const response = await post('messages', ODD.messages);
  expect([response.status, await response.text()]).toEqual([400, body]);
});

test.for(PROTOCOLS)(
  '%s: interim answers before a reply are no reply, whole and streamed',
  async (protocol) => {
    for (const body of [ODD[protocol], STREAMED[protocol]]) {
      gateway.simulator.script({ interim: true });
      const response = await post(protocol, body);
      expect(response.status, await response.text()).toBe(200);
    }
    expect(gateway.simulator.requests).toHaveLength(2);
  },
);
