import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { collect } from '../collect.ts';
import { createGate } from '../gate.ts';
import { recordedStream, recordedStreamNames } from '../recorded-stream.ts';
import { type Simulator, startSimulator } from '../start-simulator.ts';

const clientOf = ({ baseUrl }: Simulator) =>
  new OpenAI({ baseURL: baseUrl, apiKey: 'sk-test', maxRetries: 0 });

const post = (simulator: Simulator, path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${simulator.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

test.for(recordedStreamNames())(
  'the recorded stream %s is replayed byte for byte, with any cuts',
  async (name) => {
    await using simulator = await startSimulator();
    const bytes = recordedStream(name);
    for (const cuts of ['whole', 'events', 'bytes', [1, 2, 100]] as const) {
      simulator.script({ sse: bytes, cuts });
      const response = await post(simulator, '/responses', { model: 'm', input: 'Hi', stream: true });
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    }
  },
);

test('a recorded stream is cut and stalled by its events', async () => {
  await using simulator = await startSimulator();
  simulator.script({ sse: recordedStream('messages-text'), endAfter: 3 });
  const response = await post(simulator, '/messages', {});
  const three = recordedStream('messages-text').toString().split('\n\n').slice(0, 3);
  expect(await response.text()).toBe(`${three.join('\n\n')}\n\n`);
});

test('scripted replies are used once, in order, by the requests that match', async () => {
  await using simulator = await startSimulator();
  simulator.script('/v1/messages', { status: 418, json: { only: 'messages' } });
  simulator.script({ status: 429, json: { error: { message: 'first' } }, headers: { 'retry-after': '7' } });
  simulator.script((request) => request.text().includes('special'), { text: 'A special answer' });
  const first = await post(simulator, '/responses', { model: 'm', input: 'Hi' });
  expect([first.status, first.headers.get('retry-after'), await first.json()]).toEqual([
    429,
    '7',
    { error: { message: 'first' } },
  ]);
  const plain = await clientOf(simulator).responses.create({ model: 'm', input: 'Hi' });
  expect(plain.output_text).toBe('You said: Hi');
  const special = await clientOf(simulator).responses.create({ model: 'm', input: 'special' });
  expect(special.output_text).toBe('A special answer');
  expect(simulator.scriptsWaiting).toBe(1);
  simulator.reset();
  expect(simulator.scriptsWaiting).toBe(0);
});

test('a gate holds the first byte, and a stall ends when the test ends it', async () => {
  await using simulator = await startSimulator();
  const gate = createGate();
  const resume = createGate();
  simulator.script({ gate: gate.opened, stallAfter: 5, resume: resume.opened });
  let isAnswered = false;
  const pending = clientOf(simulator)
    .responses.create({ model: 'm', input: 'Hi', stream: true })
    .finally(() => {
      isAnswered = true;
    });
  await simulator.nextRequest();
  expect(isAnswered).toBe(false);
  gate.open();
  const types: string[] = [];
  for await (const event of await pending) {
    types.push(event.type);
    if (types.length === 5) resume.open();
  }
  expect(types.at(-1)).toBe('response.completed');
});

test('a request is recorded unchanged: headers in their order and spelling, body to the byte', async () => {
  await using simulator = await startSimulator();
  await post(simulator, '/responses?x=1', { model: 'm', input: 'Grüße' }, { 'X-Custom': 'One' });
  const request = await simulator.nextRequest(({ path }) => path === '/v1/responses');
  expect(request).toMatchObject({ method: 'POST', url: '/v1/responses?x=1', aborted: false });
  expect(request.rawHeaders).toContain('One');
  expect(request.text()).toBe('{"model":"m","input":"Grüße"}');
  expect(request.query.get('x')).toBe('1');
  expect(await request.closed).toBe('complete');
  expect(simulator.requests).toEqual([request]);
});

test('nextRequest returns each request once and waits for those to come', async () => {
  await using simulator = await startSimulator();
  await post(simulator, '/responses', { model: 'm', input: 'one' });
  const second = (async () => {
    expect((await simulator.nextRequest()).text()).toContain('one');
    return simulator.nextRequest();
  })();
  await post(simulator, '/responses', { model: 'm', input: 'two' });
  expect((await second).text()).toContain('two');
});

test('a caller who leaves in the middle of a stream shows as aborted', async () => {
  await using simulator = await startSimulator();
  simulator.script({ stallAfter: 6 });
  const stream = await clientOf(simulator).responses.create({ model: 'm', input: 'Hi', stream: true });
  for await (const event of stream) if (event.type === 'response.output_text.delta') break;
  const request = await simulator.nextRequest();
  expect(await request.closed).toBe('aborted');
  expect(request.aborted).toBe(true);
  expect(simulator.ledger().m).toMatchObject({ requests: 0, broken: 1 });
});

test('the ledger is the same in the process and over HTTP, per model', async () => {
  await using simulator = await startSimulator();
  const client = clientOf(simulator);
  await client.responses.create({ model: 'a', input: 'Hi [[simulate cached-tokens=2]]' });
  await collect(
    await client.chat.completions.create({
      model: 'b',
      stream: true,
      messages: [{ role: 'user', content: 'Hi' }],
    }),
  );
  const overHttp: unknown = await (await fetch(`${simulator.url}/simulator/ledger`)).json();
  expect(overHttp).toEqual(simulator.ledger());
  expect(overHttp).toMatchObject({
    a: { requests: 1, cachedInputTokens: 2 },
    b: { requests: 1, outputTokens: 3 },
  });
});

test('recording can be switched off', async () => {
  await using simulator = await startSimulator({ records: false });
  await post(simulator, '/responses', { model: 'm', input: 'Hi' });
  expect(simulator.requests).toEqual([]);
});

test('unknown paths, wrong methods, broken JSON and wrong content types have OpenAI’s or Anthropic’s errors', async () => {
  await using simulator = await startSimulator();
  const key = { authorization: 'Bearer k', 'anthropic-version': '2023-06-01' };
  const call = async (path: string, init: RequestInit) => {
    const response = await fetch(`${simulator.baseUrl}${path}`, { headers: key, ...init });
    return [response.status, await response.json()];
  };
  expect(await call('/nowhere', {})).toEqual([
    404,
    { error: expect.objectContaining({ message: 'Invalid URL (GET /v1/nowhere)' }) },
  ]);
  expect(await call('/messages/nowhere', {})).toEqual([404, expect.objectContaining({ type: 'error' })]);
  expect(await call('/chat/completions', {})).toEqual([
    405,
    { error: expect.objectContaining({ code: 'method_not_supported' }) },
  ]);
  const broken = { method: 'POST', body: '{', headers: { ...key, 'content-type': 'application/json' } };
  expect(await call('/responses', broken)).toEqual([
    400,
    {
      error: {
        message: 'We could not parse the JSON body of your request.',
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
    },
  ]);
  expect(await call('/messages', broken)).toEqual([
    400,
    expect.objectContaining({
      error: expect.objectContaining({ message: expect.stringContaining('not valid JSON') }),
    }),
  ]);
  expect(await call('/responses', { method: 'POST', body: 'x' })).toEqual([
    400,
    { error: expect.objectContaining({ code: 'unsupported_content_type' }) },
  ]);
  expect(await call('/images/edits', { method: 'POST', body: 'x' })).toEqual([
    400,
    { error: expect.objectContaining({ code: 'unsupported_content_type' }) },
  ]);
});

test('models are listed for the clients of both protocols', async () => {
  await using simulator = await startSimulator();
  const models = await collect(await clientOf(simulator).models.list());
  expect(models.map(({ id }) => id)).toContain('gpt-5.2');
  expect(models[0]).toMatchObject({ object: 'model', type: 'model', display_name: expect.any(String) });
  await expect(clientOf(simulator).models.retrieve('no-such-model')).rejects.toMatchObject({ status: 404 });
});

test('only the configured keys are accepted, if there are any', async () => {
  await using simulator = await startSimulator({ apiKeys: ['good'] });
  const status = async (key: string) =>
    (await post(simulator, '/responses', { model: 'm', input: 'Hi' }, { authorization: `Bearer ${key}` }))
      .status;
  expect([await status('good'), await status('bad')]).toEqual([200, 401]);
});
