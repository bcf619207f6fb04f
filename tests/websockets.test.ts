import { recordedStream } from '@gateway/simulator/recorded-stream';
import { connectSocket } from '@gateway/testkit/connect-socket';
import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI from 'openai';
import type { ResponsesServerEvent } from 'openai/resources/responses/responses';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createKey, revokeKey } from './support/admin-keys.ts';
import { ONE_PROVIDER } from './support/configuration.ts';
import { type Gateway, type GatewayOptions, startGateway } from './support/start-gateway.ts';

/** Responses over WebSockets: with OpenAI's own client, and where a gateway has several processes and several edges. */

const configuration = (origin: string): string =>
  `${ONE_PROVIDER(origin).replace('models:\n', `  messages: { provider: simulator, baseUrl: "${origin}", speaks: [messages] }\nmodels:\n`)}
  translated: { kind: text, routes: [{ channel: messages }] }
`;
const WAYS: Readonly<Record<string, GatewayOptions>> = {
  'one process': { configuration },
  'a process each, two of text': {
    configuration,
    mode: 'each',
    services: ['edge', 'text', 'admin'],
    replicas: { text: 2 },
  },
};
const MODELS = ['gpt-5.2', 'translated'];
const never = new Promise<void>(() => undefined);

describe.for(Object.keys(WAYS))('%s', (way) => {
  let gateway: Gateway;
  let client: ResponsesWS | undefined;
  beforeAll(async () => {
    gateway = await startGateway(WAYS[way]);
  });
  afterAll(() => gateway?.close());
  beforeEach(() => gateway.simulator.reset());
  afterEach(() => client?.close({ code: 1000, reason: 'done' }));

  const connect = (key = gateway.key): ResponsesWS => {
    client = new ResponsesWS(new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 }));
    return client;
  };
  /** Sends one event when the connection is open, and collects what comes until a response has ended. */
  const ask = (socket: ResponsesWS, event: Parameters<ResponsesWS['send']>[0]) =>
    new Promise<ResponsesServerEvent[]>((resolve, reject) => {
      const events: ResponsesServerEvent[] = [];
      const onEvent = (received: ResponsesServerEvent) => {
        events.push(received);
        if (received.type !== 'response.completed') return;
        socket.off('event', onEvent);
        socket.off('error', reject);
        resolve(events);
      };
      socket.on('event', onEvent);
      socket.on('error', reject);
      socket.send(event);
    });
  const socketTo = () =>
    connectSocket(`${gateway.url}/v1/responses`, { authorization: `Bearer ${gateway.key}` });

  test.for(MODELS)("%s: OpenAI's client converses, though nothing is stored", async (model) => {
    const socket = connect();
    const create = { type: 'response.create', model, store: false } as const;
    const first = await ask(socket, { ...create, input: 'the first question' });
    const done = first.at(-1);
    if (done?.type !== 'response.completed') throw new Error('no end');
    expect(done.response.output).toHaveLength(1);
    const second = await ask(socket, {
      ...create,
      input: 'the second question',
      previous_response_id: done.response.id,
    });
    expect(second.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { previous_response_id: done.response.id, output: [{ type: 'message' }] },
    });
    const sent = gateway.simulator.requests.at(-1)?.text();
    expect(sent).toContain('the first question');
    expect(sent).toContain('the second question');
  });

  test("OpenAI's client gets an error event as an error, and continues", async () => {
    const socket = connect();
    const create = { type: 'response.create', model: 'no-such-model', input: 'hi' } as const;
    await expect(ask(socket, create)).rejects.toMatchObject({
      error: { status: 404, error: { code: 'model_not_found' } },
    });
    const events = await ask(socket, { ...create, model: 'gpt-5.2' });
    expect(events.at(-1)).toMatchObject({ type: 'response.completed' });
  });

  test('responses are charged to the key that opened the connection', async () => {
    const before = gateway.simulator.requests.length;
    using socket = await socketTo();
    socket.send({ type: 'response.create', model: 'gpt-5.2', input: 'hi', store: false });
    await socket.answer();
    expect(gateway.simulator.requests.length).toBe(before + 1);
    const line = await waitFor(() =>
      gateway.lines.find(
        ({ process, text }) => process.startsWith('text') && text.includes('"transport":"websocket"'),
      ),
    );
    expect(JSON.parse(line.text)).toMatchObject({
      path: '/v1/responses',
      outcome: 'ok',
      keyId: expect.any(String),
      outputTokens: expect.any(Number),
    });
  });

  test('a revoked key is refused within a second, and its connection closes with 1008', async () => {
    const { id, key } = await createKey(gateway.stack, { name: 'short-lived' });
    using socket = await connectSocket(`${gateway.url}/v1/responses`, { authorization: `Bearer ${key}` });
    const create = { type: 'response.create', model: 'gpt-5.2', input: 'hi', store: false };
    socket.send(create);
    expect((await socket.answer()).at(-1)).toMatchObject({ type: 'response.completed' });
    await revokeKey(gateway.stack, id);
    await waitFor(async () => {
      socket.send(create);
      return (await socket.answer()).at(-1)?.type === 'error';
    });
    expect(socket.events.at(-1)).toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect((await socket.closed).code).toBe(1008);
  });

  test('a caller who leaves ends the upstream request, however it leaves', async () => {
    const leaving = {
      close: ({ webSocket }: Awaited<ReturnType<typeof socketTo>>) => webSocket.close(),
      end: ({ connection }: Awaited<ReturnType<typeof socketTo>>) => connection.end(),
      reset: ({ connection }: Awaited<ReturnType<typeof socketTo>>) => connection.resetAndDestroy(),
    };
    for (const leave of Object.values(leaving)) {
      gateway.simulator.reset();
      gateway.simulator.script({ sse: recordedStream('responses-text'), stallAfter: 5, resume: never });
      const socket = await socketTo();
      socket.send({ type: 'response.create', model: 'gpt-5.2', input: 'hi', store: false });
      await waitFor(() => socket.events.length === 5);
      leave(socket);
      const [request] = gateway.simulator.requests;
      expect(await request?.closed).toBe('aborted');
    }
  });

  test('a process that stops finishes what runs, and closes with 1012', async () => {
    const name = way === 'one process' ? 'gateway' : 'edge';
    const gate = Promise.withResolvers<void>();
    gateway.simulator.script({ sse: recordedStream('responses-text'), stallAfter: 5, resume: gate.promise });
    using socket = await socketTo();
    using idle = await socketTo();
    socket.send({ type: 'response.create', model: 'gpt-5.2', input: 'hi', store: false });
    await waitFor(() => socket.events.length === 5);
    const { pid } = gateway.stack.process(name);
    gateway.stack.process(name).kill('SIGTERM');
    expect((await idle.closed).code).toBe(1012);
    gate.resolve();
    expect((await socket.closed).code).toBe(1012);
    expect(socket.events.at(-1)).toMatchObject({ type: 'response.completed' });
    await waitFor(async () => {
      if (gateway.stack.process(name).pid === pid) return false;
      const again = await socketTo();
      again[Symbol.dispose]();
      return true;
    });
  });
});

test('switched off, a client learns it from a 426, and HTTP serves', async () => {
  const gateway = await startGateway({ env: { EDGE_WEBSOCKETS: 'false' } });
  const refused = connectSocket(`${gateway.url}/v1/responses`, { authorization: `Bearer ${gateway.key}` });
  await expect(refused).rejects.toMatchObject({ status: 426, body: { error: { code: 'upgrade_refused' } } });
  const response = await gateway.openai.responses.create({ model: 'gpt-5.2', input: 'hi' });
  expect(response.status).toBe('completed');
  await gateway.close();
});
