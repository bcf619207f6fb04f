import { readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { BLOCKED, intervened, NONE } from '@gateway/testkit/start-hook-server';
import { waitFor } from '@gateway/testkit/wait-for';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type HookedStack, spentBy, startHooked } from '../../testing/hooked-stack.ts';

const LONG = 'One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen.';

let hooked: HookedStack;
let openai: OpenAI;
let anthropic: Anthropic;
beforeAll(async () => {
  hooked = await startHooked();
  const { text } = hooked.stack;
  const options = { apiKey: 'k', maxRetries: 0, defaultHeaders: text.identityHeaders() };
  openai = new OpenAI({ ...options, baseURL: `${text.url}/v1` });
  anthropic = new Anthropic({ ...options, baseURL: text.url });
  await text.startWorker();
});
afterAll(() => hooked[Symbol.asyncDispose]());
afterEach(() => {
  hooked.hook.reset();
  hooked.stack.first.reset();
});

const blocksEight = () =>
  hooked.hook.answer(({ texts }) => (texts.some((text) => text.includes('eight')) ? BLOCKED : NONE));

test("OpenAI's client reads what was blocked", async () => {
  hooked.hook.answer(() => BLOCKED);
  const messages = [{ role: 'user' as const, content: LONG }];
  await expect(openai.chat.completions.create({ model: 'before-chat', messages })).rejects.toMatchObject({
    status: 400,
    code: 'content_filter',
    type: 'invalid_request_error',
  });
  blocksEight();
  const response = await openai.responses.create({ model: 'window-responses', input: LONG });
  expect(response).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'content_filter' },
    output_text: '',
  });
  const stream = openai.responses.stream({ model: 'window-responses', input: LONG });
  const final = await stream.finalResponse();
  expect(final).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'content_filter' } });
  expect(final.output_text).toMatch(/^You said: One/);
  const chat = openai.chat.completions.stream({ model: 'window-chat', messages });
  expect((await chat.finalChatCompletion()).choices).toMatchObject([
    { finish_reason: 'content_filter', message: { content: expect.stringMatching(/^You said: One/) } },
  ]);
});

test("Anthropic's client reads what was blocked", async () => {
  const body = { max_tokens: 100, messages: [{ role: 'user' as const, content: LONG }] };
  hooked.hook.answer(() => BLOCKED);
  await expect(anthropic.messages.create({ ...body, model: 'before-messages' })).rejects.toMatchObject({
    status: 400,
    error: { error: { type: 'invalid_request_error' } },
  });
  blocksEight();
  const message = await anthropic.messages.create({ ...body, model: 'window-messages' });
  expect(message).toMatchObject({ stop_reason: 'refusal', content: [] });
  const streamed = await anthropic.messages.stream({ ...body, model: 'window-messages' }).finalMessage();
  expect(streamed.stop_reason).toBe('refusal');
  expect(streamed.content).toMatchObject([{ type: 'text', text: expect.stringMatching(/^You said: One/) }]);
});

test.for(['generateContent', 'streamGenerateContent?alt=sse'])('a caller of Gemini, %s', async (method) => {
  const { stack, hook } = hooked;
  const post = (model: string) =>
    stack.text.fetch(`/v1beta/models/${model}:${method}`, {
      body: { contents: [{ role: 'user', parts: [{ text: LONG }] }] },
    });
  hook.answer(() => BLOCKED);
  const refused = await post('before-gemini');
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({
    error: { code: 400, message: expect.stringContaining('blocked') },
  });
  blocksEight();
  const cut = await (await post('window-gemini')).text();
  expect(cut).toContain('"finishReason":"SAFETY"');
  expect(cut).not.toContain('eight');
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replaceAll('eight', '[8]'))));
  const changed = await (await post('window-gemini')).text();
  expect(changed).not.toContain('eight');
  expect(changed).toContain('[8]');
  hook.answer(() => NONE);
  const passed = await (await post('whole-gemini')).text();
  expect(passed).toContain('eight');
});

test('a response over a WebSocket', async () => {
  const { stack, hook } = hooked;
  using socket = await stack.text.webSocket();
  hook.answer(() => BLOCKED);
  socket.send({ type: 'response.create', model: 'before-responses', input: LONG });
  expect((await socket.answer()).at(-1)).toMatchObject({
    type: 'error',
    status: 400,
    error: { code: 'content_filter' },
  });
  blocksEight();
  socket.send({ type: 'response.create', model: 'window-responses', input: LONG });
  const events = await socket.answer();
  expect(events.at(-1)).toMatchObject({ type: 'response.incomplete' });
  expect(JSON.stringify(events)).not.toContain('eight');
});

test('a background response that its limits do not let in costs no check, and a blocked one none of the limit', async () => {
  const { stack, hook } = hooked;
  const spend = (tokensPerMinute: number) =>
    stack.text.fetch('/v1/responses', {
      body: { model: 'before-responses', input: LONG, max_output_tokens: 60, background: true },
      identity: { accounts: [{ owner: 'key_limited', limits: { tokensPerMinute }, budget: null }] },
    });
  const refused = await spend(10);
  expect([refused.status, hook.requests.length]).toEqual([429, 0]);
  hook.answer(() => BLOCKED);
  for (const _ of [1, 2, 3]) expect((await spend(150)).status).toBe(400);
  expect(hook.requests).toHaveLength(3);
});

test('a background response that cannot be queued has nothing reserved', async () => {
  const { text } = hooked.stack;
  const folder = join(text.dataDir, 'uploads');
  await rename(folder, `${folder}-away`);
  const keyId = 'key_not_queued';
  const budget = { microUsd: 1e9, period: 'total', allowUnpriced: false } as const;
  const reply = await text.fetch('/v1/responses', {
    body: { model: 'free', input: 'x'.repeat(600_000), background: true },
    identity: { keyId, accounts: [{ owner: keyId, budget, limits: {} }] },
  });
  await rename(`${folder}-away`, folder);
  expect(reply.status).toBeGreaterThanOrEqual(500);
  expect(await spentBy(hooked.stack, keyId)).toBe(0);
});

test('a response in the background: its input is checked when it is accepted, its answer by the worker', async () => {
  const { stack, hook } = hooked;
  hook.answer(() => BLOCKED);
  await expect(
    openai.responses.create({ model: 'before-responses', input: LONG, background: true }),
  ).rejects.toMatchObject({ status: 400, code: 'content_filter' });
  await expect(
    openai.responses.create({ model: 'beside-chat', input: LONG, background: true }),
  ).rejects.toMatchObject({ status: 400, code: 'content_filter' });
  expect(stack.first.requests).toHaveLength(0);

  hook.answer(({ texts }) => intervened(texts.map((text) => text.replaceAll('eight', '[8]'))));
  const masked = await openai.responses.create({ model: 'before-chat', input: LONG, background: true });
  const ended = await ending(masked.id);
  expect(ended.output_text).toBe(`You said: ${LONG.replace('eight', '[8]')}`);
  const items = await openai.responses.inputItems.list(masked.id);
  expect(JSON.stringify(items.data)).not.toContain('eight');
  // Once, by the service that accepted it.
  expect(hook.requests.filter(({ body }) => body.input_type === 'request')).toHaveLength(3);

  blocksEight();
  const cut = await openai.responses.create({ model: 'window-responses', input: LONG, background: true });
  expect(await ending(cut.id)).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'content_filter' },
  });
});

const ending = (id: string) =>
  waitFor(async () => {
    const response = await openai.responses.retrieve(id);
    return ['queued', 'in_progress'].includes(response.status ?? '') ? undefined : response;
  });

test.for([false, true])('what is stored of an answer is what its caller got, stream %s', async (stream) => {
  const { hook } = hooked;
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replaceAll('eight', '[8]'))));
  const body = { model: 'window-chat', input: LONG };
  const id = stream
    ? (await openai.responses.stream(body).finalResponse()).id
    : (await openai.responses.create(body)).id;
  const stored = await openai.responses.retrieve(id);
  expect(stored.output_text).toBe(`You said: ${LONG.replace('eight', '[8]')}`);
});

test('a request that continues a stored one is checked with its own texts', async () => {
  const { hook, stack } = hooked;
  const first = await openai.responses.create({ model: 'before-chat', input: 'First' });
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replace('Second', '[2]'))));
  await openai.responses.create({ model: 'before-chat', input: 'Second', previous_response_id: first.id });
  expect(hook.requests.at(-1)?.texts).toEqual(['Second']);
  const sent = String(stack.first.requests.at(-1)?.body);
  expect(sent).toContain('First');
  expect(sent).toContain('[2]');
  expect(sent).not.toContain('Second');
});

test('tool calls and their results are texts too', async () => {
  const { hook, stack } = hooked;
  const messages = [
    { role: 'user' as const, content: 'Weather?' },
    {
      role: 'assistant' as const,
      content: null,
      tool_calls: [
        {
          id: 'call_1',
          type: 'function' as const,
          function: { name: 'weather', arguments: '{"city":"Ada"}' },
        },
      ],
    },
    { role: 'tool' as const, tool_call_id: 'call_1', content: 'Ada is sunny' },
  ];
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replace('Ada', '[NAME]'))));
  await openai.chat.completions.create({ model: 'before-messages', messages });
  expect(hook.requests[0]?.texts).toEqual(['Weather?', '{"city":"Ada"}', 'Ada is sunny']);
  expect(String(stack.first.requests[0]?.body)).not.toContain('Ada');
});

test('a count is checked like the request: its provider gets no other texts', async () => {
  const { stack, hook } = hooked;
  const messages = [{ role: 'user' as const, content: 'I am Ada' }];
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replace('Ada', '[NAME]'))));
  await anthropic.messages.countTokens({ model: 'before-messages', messages });
  expect(String(stack.first.requests[0]?.body)).toContain('[NAME]');
  hook.answer(() => BLOCKED);
  for (const model of ['before-messages', 'before-responses', 'beside-messages'])
    await expect(anthropic.messages.countTokens({ model, messages })).rejects.toMatchObject({ status: 400 });
  expect(stack.first.requests).toHaveLength(1);
});

test('what prepares a connection is checked, since later requests continue it', async () => {
  const { stack, hook } = hooked;
  using socket = await stack.text.webSocket();
  const warmUp = { type: 'response.create', model: 'before-chat', generate: false };
  hook.answer(() => BLOCKED);
  socket.send({ ...warmUp, input: 'Bad words' });
  expect((await socket.answer()).at(-1)).toMatchObject({ type: 'error', error: { code: 'content_filter' } });
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replace('Ada', '[NAME]'))));
  socket.send({ ...warmUp, input: 'I am Ada' });
  const { id } = Object((await socket.answer()).at(-1)).response;
  socket.send({ type: 'response.create', model: 'before-chat', input: 'Who?', previous_response_id: id });
  await socket.answer();
  const sent = String(stack.first.requests.at(-1)?.body);
  expect(sent).toContain('[NAME]');
  expect(sent).not.toContain('Ada');
});

test('what is put into a conversation is checked, by the hooks of every model', async () => {
  const { stack, hook } = hooked;
  const items = [{ role: 'user' as const, content: 'I am Ada' }];
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replace('Ada', '[NAME]'))));
  const { id } = await openai.conversations.create({ items });
  await openai.conversations.items.create(id, { items });
  await openai.responses.create({ model: 'free', input: 'Who am I?', conversation: id });
  const sent = String(stack.first.requests.at(-1)?.body);
  expect(sent.match(/\[NAME\]/g)).toHaveLength(2);
  expect(sent).not.toContain('Ada');
  hook.answer(() => BLOCKED);
  await expect(openai.conversations.items.create(id, { items })).rejects.toMatchObject({ status: 400 });
});

test('an image that is put into a conversation is checked by a hook that gets images', async () => {
  const { hook } = hooked;
  const image_url = 'data:image/png;base64,AAAA';
  const content = [{ type: 'input_image' as const, image_url, detail: 'auto' as const }];
  hook.answer(({ body }) => (body.images === undefined ? NONE : BLOCKED));
  await expect(
    openai.conversations.create({ items: [{ type: 'message', role: 'user', content }] }),
  ).rejects.toMatchObject({ status: 400, code: 'content_filter' });
  expect(hook.requests.map(({ body }) => body.images)).toEqual([[image_url]]);
});

test('the content log has what hooks have made of a request, and none that they blocked before its provider', async () => {
  const { stack, hook } = hooked;
  const folder = join(stack.text.dataDir, 'content-spool');
  const log = async (): Promise<string> => {
    const names = await readdir(folder).catch(() => []);
    return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('');
  };
  const say = (content: string) =>
    openai.chat.completions.create({ model: 'before-gemini', messages: [{ role: 'user', content }] });
  hook.answer(() => BLOCKED);
  await expect(say('Something blocked')).rejects.toMatchObject({ status: 400 });
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replace('Ada', '[NAME]'))));
  await say('I am Ada');
  const written = await waitFor(async () => (await log()) || undefined);
  expect(written).toContain('I am [NAME]');
  expect(written).not.toMatch(/Ada|Something blocked/);
});

test.for([
  '',
  '?include[]=message.output_text.logprobs',
  '?stream=true',
  '?stream=true&starting_after=2',
  '?any=1',
])('a stored answer is read as its caller got it, whatever its provider has: %s', async (query) => {
  const { stack, hook } = hooked;
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replaceAll('eight', '[8]'))));
  const { id } = await openai.responses.create({ model: 'window-responses', input: LONG });
  blocksEight();
  const blocked = await openai.responses.create({ model: 'window-responses', input: LONG });
  for (const one of [id, blocked.id]) {
    const reply = await stack.text.fetch(`/v1/responses/${one}${query}`, { method: 'GET' });
    expect(reply.status).toBe(200);
    expect(await reply.text()).not.toContain('eight');
  }
});

test.for([false, true])('a completion of a bare prompt, stream %s', async (stream) => {
  const { stack, hook } = hooked;
  const post = async (model: string, prompt: unknown): Promise<string> => {
    const reply = await stack.text.fetch('/v1/completions', { body: { model, prompt, stream } });
    return `${reply.status} ${await reply.text()}`;
  };
  hook.answer(({ texts }) => intervened(texts.map((text) => text.replaceAll('eight', '[8]'))));
  await post('before-completions', [LONG, 'eight']);
  expect(String(stack.first.requests.at(-1)?.body)).not.toContain('eight');
  expect(await post('window-completions', LONG)).toMatch(/^200 (?!.*eight).*\[8\]/s);
  blocksEight();
  expect(await post('window-completions', LONG)).toMatch(
    /^200 (?!.*eight).*"finish_reason":"content_filter"/s,
  );
  // Tokens are a text that no hook can read.
  const sent = stack.first.requests.length;
  for (const prompt of [
    [1, 2, 3],
    [[1], [2]],
  ])
    expect(await post('before-completions', prompt)).toMatch(/^400 .*cannot be checked/);
  expect(stack.first.requests).toHaveLength(sent);
  expect(await post('window-completions', [1, 2, 3])).toMatch(/^200 /);
});
