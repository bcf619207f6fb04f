import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { collect } from '../collect.ts';
import { type Simulator, startSimulator } from '../start-simulator.ts';
import { READERS } from './directives.ts';
import { isNamedFault, STATUS_FAULTS } from './fault-table.ts';

const openaiOf = ({ baseUrl }: Simulator) =>
  new OpenAI({ baseURL: baseUrl, apiKey: 'sk-test', maxRetries: 0, logLevel: 'off' });
const anthropicOf = ({ url }: Simulator) => new Anthropic({ baseURL: url, apiKey: 'key', maxRetries: 0 });

const respond = (simulator: Simulator, directive: string, stream = false) =>
  fetch(`${simulator.baseUrl}/responses`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', input: `Hello [[simulate ${directive}]]`, stream }),
  });

const message = (simulator: Simulator, directive: string) =>
  anthropicOf(simulator).messages.create({
    model: 'c',
    max_tokens: 100,
    messages: [{ role: 'user', content: `Hello [[simulate ${directive}]]` }],
  });

/** The bytes until the connection ended, and whether it ended correctly. */
const readAll = async (response: Response): Promise<{ text: string; isWhole: boolean }> => {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    return { text, isWhole: true };
  } catch {
    return { text, isWhole: false };
  }
};

const eventNames = (text: string): string[] =>
  [...text.matchAll(/^event: (.*)$/gm)].map(([, name = '']) => name);

test.for(Object.keys(STATUS_FAULTS).map(Number))(
  'status %i has the body of either protocol',
  async (status) => {
    await using simulator = await startSimulator();
    const response = await respond(simulator, `status=${status} retry-after=2`);
    expect(response.status).toBe(status);
    expect(response.headers.get('retry-after')).toBe('2');
    const expected = STATUS_FAULTS[status];
    expect(await response.json()).toEqual({
      error: {
        message: expected?.message,
        type: expected?.openaiType,
        code: expected?.openaiCode,
        param: null,
      },
    });
    await expect(message(simulator, `status=${status}`)).rejects.toMatchObject({
      status,
      error: { type: 'error', error: { type: expected?.anthropicType } },
    });
  },
);

test.for([
  ['quota', 429, 'insufficient_quota', 429, 'rate_limit_error'],
  ['overloaded', 503, 'server_is_overloaded', 529, 'overloaded_error'],
  ['model-not-found', 404, 'model_not_found', 404, 'not_found_error'],
  ['context-length', 400, 'context_length_exceeded', 400, 'invalid_request_error'],
  ['content-policy', 400, 'content_policy_violation', 400, 'invalid_request_error'],
  ['no-key', 401, null, 401, 'authentication_error'],
] as const)(
  "%s is an error in either provider's words",
  async ([name, status, code, anthropicStatus, type]) => {
    await using simulator = await startSimulator();
    const response = await respond(simulator, name);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code } });
    await expect(message(simulator, name)).rejects.toMatchObject({
      status: anthropicStatus,
      error: { error: { type } },
    });
  },
);

test('close-before-response sends nothing at all', async () => {
  await using simulator = await startSimulator();
  await expect(respond(simulator, 'close-before-response')).rejects.toThrow();
  const { closed } = await simulator.nextRequest();
  expect(await closed).toBe('aborted');
});

test('cut-after breaks the connection after so many events, or in the middle of a body', async () => {
  await using simulator = await startSimulator();
  const stream = await readAll(await respond(simulator, 'cut-after=3', true));
  expect(eventNames(stream.text)).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
  ]);
  expect(stream.isWhole).toBe(false);
  const body = await readAll(await respond(simulator, 'cut-after=3'));
  expect(body.isWhole).toBe(false);
  expect(body.text.length).toBeGreaterThan(100);
  expect(simulator.ledger().m).toMatchObject({ requests: 0, broken: 2, outputTokens: 0 });
});

test('end-after ends the stream without an error', async () => {
  await using simulator = await startSimulator();
  const { text, isWhole } = await readAll(await respond(simulator, 'end-after=2', true));
  expect([eventNames(text).length, isWhole]).toEqual([2, true]);
  expect(simulator.ledger().m).toMatchObject({ requests: 0, broken: 1 });
});

test('stall-after stops sending but keeps the connection', async () => {
  await using simulator = await startSimulator();
  const response = await respond(simulator, 'stall-after=2', true);
  const reader = response.body?.getReader();
  let text = '';
  while (eventNames(text).length < 2) text += new TextDecoder().decode((await reader?.read())?.value);
  const request = await simulator.nextRequest();
  expect(request.aborted).toBe(false);
  await reader?.cancel();
  expect(await request.closed).toBe('aborted');
  expect(eventNames(text)).toEqual(['response.created', 'response.in_progress']);
});

test('error-event-after ends each stream in its own protocol, and is a 500 without a stream', async () => {
  await using simulator = await startSimulator();
  const input = 'Hello [[simulate error-event-after=6]]';
  const responses = await readAll(await respond(simulator, 'error-event-after=6', true));
  expect(eventNames(responses.text).slice(-2)).toEqual(['error', 'response.failed']);
  expect(responses.text).toContain(
    '"status":"incomplete","role":"assistant","content":[{"type":"output_text","text":"You said:"',
  );
  const stream = await openaiOf(simulator).responses.create({ model: 'm', input, stream: true });
  await expect(collect(stream)).rejects.toThrow('The server had an error');

  const messages = anthropicOf(simulator).messages.stream({
    model: 'c',
    max_tokens: 100,
    messages: [{ role: 'user', content: input }],
  });
  await expect(messages.finalMessage()).rejects.toMatchObject({
    error: { error: { type: 'overloaded_error' } },
  });

  const chat = await openaiOf(simulator).chat.completions.create({
    model: 'm',
    stream: true,
    messages: [{ role: 'user', content: input.replace('6', '2') }],
  });
  await expect(collect(chat)).rejects.toThrow('The server had an error');
  expect((await respond(simulator, 'error-event-after=1')).status).toBe(500);
});

test('garbage, html and empty replies are outside the protocol', async () => {
  await using simulator = await startSimulator();
  const garbage = await respond(simulator, 'garbage');
  expect([garbage.status, garbage.headers.get('content-type')]).toEqual([200, 'application/json']);
  await expect(garbage.json()).rejects.toThrow();
  const broken = await openaiOf(simulator).responses.create({
    model: 'm',
    input: '[[simulate garbage=2]]',
    stream: true,
  });
  await expect(collect(broken)).rejects.toThrow();
  const html = await respond(simulator, 'html');
  expect([html.status, html.headers.get('content-type')]).toEqual([502, 'text/html']);
  const empty = await respond(simulator, 'empty');
  expect([empty.status, await empty.text()]).toEqual([200, '']);
});

test('slow-first-byte, slow-first-event and pace delay and change no byte', async () => {
  await using simulator = await startSimulator({ idSeed: 'a' });
  const text = async (directive: string) =>
    eventNames((await readAll(await respond(simulator, directive, true))).text);
  const plain = await text('tokens=3');
  for (const delay of ['slow-first-byte=20', 'slow-first-event=20', 'pace=1']) {
    expect(await text(`tokens=3 ${delay}`), delay).toEqual(plain);
  }
  expect((await readAll(await respond(simulator, 'slow-first-byte=20'))).isWhole).toBe(true);
});

test.for([
  ['slow-first-byte=600000', null],
  ['slow-first-event=600000', 0],
  ['pace=600000', 1],
] as const)('%s holds the reply at its point', async ([directive, events]) => {
  await using simulator = await startSimulator();
  const stop = new AbortController();
  const pending = fetch(`${simulator.baseUrl}/responses`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', input: `Hello [[simulate ${directive}]]`, stream: true }),
    signal: stop.signal,
  });
  const request = await simulator.nextRequest();
  if (events !== null) {
    const reader = (await pending).body?.getReader();
    if (events > 0)
      expect(eventNames(new TextDecoder().decode((await reader?.read())?.value))).toHaveLength(events);
    void reader?.closed.catch(() => {});
  }
  const refused = events === null ? expect(pending).rejects.toThrow() : null;
  expect(request.aborted).toBe(false);
  stop.abort();
  await refused;
  expect(await request.closed).toBe('aborted');
});

test('a caller who leaves during a delay is noticed at once', async () => {
  await using simulator = await startSimulator();
  const stop = new AbortController();
  const pending = openaiOf(simulator)
    .responses.create({ model: 'm', input: '[[simulate slow-first-byte=600000]]' }, { signal: stop.signal })
    .catch((error: unknown) => error);
  const request = await simulator.nextRequest();
  stop.abort();
  expect(await request.closed).toBe('aborted');
  expect(await pending).toBeInstanceOf(OpenAI.APIUserAbortError);
});

test('times=1 fails once and then answers, model=… applies to that model only', async () => {
  await using simulator = await startSimulator();
  expect((await respond(simulator, 'status=503 times=1')).status).toBe(503);
  expect((await respond(simulator, 'status=503 times=1')).status).toBe(200);
  expect((await respond(simulator, 'status=503 model=other')).status).toBe(200);
  expect((await respond(simulator, 'status=503 model=m')).status).toBe(503);
});

test('a directive of an earlier turn is ignored', async () => {
  await using simulator = await startSimulator();
  const response = await openaiOf(simulator).responses.create({
    model: 'm',
    input: [
      { role: 'user', content: '[[simulate status=503]]' },
      { role: 'assistant', content: 'No.' },
      { role: 'user', content: 'Hello' },
    ],
  });
  expect(response.output_text).toBe('You said: Hello');
});

test('images, speech and transcriptions take directives from their prompt or input', async () => {
  await using simulator = await startSimulator();
  const client = openaiOf(simulator);
  const directive = '[[simulate status=529]]';
  const file = new File(['x'], 'a.wav');
  const refused = { status: 529 };
  await expect(client.images.generate({ model: 'gpt-image-1', prompt: directive })).rejects.toMatchObject(
    refused,
  );
  await expect(
    client.images.edit({ model: 'gpt-image-1', prompt: directive, image: file }),
  ).rejects.toMatchObject(refused);
  await expect(
    client.audio.speech.create({ model: 'tts-1', voice: 'alloy', input: directive }),
  ).rejects.toMatchObject(refused);
  await expect(
    client.audio.transcriptions.create({ model: 'whisper-1', prompt: directive, file }),
  ).rejects.toMatchObject(refused);
  await expect(
    client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: directive }] }),
  ).rejects.toMatchObject(refused);
});

test('speech that is cut is a broken transfer', async () => {
  await using simulator = await startSimulator();
  const response = await openaiOf(simulator).audio.speech.create({
    model: 'tts-1',
    voice: 'alloy',
    input: `${'word '.repeat(40)}[[simulate cut-after=4]]`,
  });
  await expect(response.arrayBuffer()).rejects.toThrow();
});

test('the README explains every directive', async () => {
  const { readFileSync } = await import('node:fs');
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const names = [
    ...Object.keys(READERS),
    'quota',
    'overloaded',
    'model-not-found',
    'context-length',
    'content-policy',
    'no-key',
  ];
  expect(names.filter(isNamedFault)).toHaveLength(6);
  for (const name of names) expect(readme, name).toMatch(new RegExp(`^\\| \`${name}[\`=]`, 'm'));
});
