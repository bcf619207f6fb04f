import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { ContentRecord } from '@gateway/contracts/content-log';
import { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { redisNames } from '@gateway/metering/redis-names';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { answerLine } from '../../endpoints/batches/answer-line.ts';
import type { Stack } from '../../testing/start-stack.ts';
import type { TextUnderTest } from '../../testing/start-text.ts';
import { PAIRS, PATHS, requestOf, startPairs } from '../../testing/text-pairs.ts';

const RULES = `
  quiet: { kind: text, routes: [{ channel: chat }] }
  rare: { kind: text, routes: [{ channel: chat }] }
  free: { kind: text, routes: [{ channel: chat }] }
  never: { kind: text, routes: [{ channel: chat }] }
  raw: { kind: text, routes: [{ channel: chat }] }
conversations: { neverKept: { models: [never] } }
contentLog:
  maxBytes: 20000
  patterns: { customer: 'KD-\\d{6}' }
  rules:
    - { models: [to-*, never] }
    - { models: [rare], share: 0 }
    - { models: [free], mayOptOut: true }
    - { models: [raw], teams: [search], keys: [key_one], redact: [] }
`;

let stack: Stack;
let text: TextUnderTest;
beforeAll(async () => {
  stack = await startPairs({ models: RULES });
  text = stack.text;
});
afterAll(() => stack[Symbol.asyncDispose]());
afterEach(() => stack.first.reset());

/** Every line that is on disk, as it is there. */
async function rawLog(): Promise<string> {
  const texts: string[] = [];
  for (const folder of ['content-spool', 'content'])
    for (const name of await readdir(join(text.dataDir, folder)).catch(() => [])) {
      const bytes = await readFile(join(text.dataDir, folder, name)).catch(() => Buffer.alloc(0));
      texts.push((name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString());
    }
  return texts.join('');
}

const linesOf = async (requestId: string): Promise<string[]> =>
  (await rawLog()).split('\n').filter((line) => line.includes(`"requestId":"${requestId}"`));

async function logged(requestId: string): Promise<ContentRecord> {
  const [line] = await waitFor(async () => {
    const found = await linesOf(requestId);
    return found.length > 0 ? found : undefined;
  });
  return ContentRecord.parse(JSON.parse(line ?? ''));
}

let count = 0;
async function send(path: string, body: unknown, headers: Record<string, string> = {}, identity = {}) {
  count += 1;
  const requestId = `req_content_${count}`;
  const reply = await text.fetch(path, {
    body,
    headers: { 'x-request-id': requestId, ...headers },
    identity,
  });
  return { requestId, status: reply.status, text: await reply.text() };
}

test.for(PAIRS.flatMap((pair) => [false, true].map((stream) => ({ ...pair, stream }))))(
  '$caller to $target, stream $stream: both sides are logged in the protocol of the caller',
  async ({ caller, model, stream }) => {
    const sent = await send(PATHS[caller], requestOf(caller, model, 'What is up? 🐳', { stream }));
    expect(sent.status).toBe(200);
    const record = await logged(sent.requestId);
    expect(record).toMatchObject({
      endpoint: caller,
      model,
      keyId: 'key_one',
      team: null,
      channel: model.slice('to-'.length),
      request: requestOf(caller, model, 'What is up? 🐳', { stream }),
    });
    expect(JSON.stringify(record.answer)).toContain('You said: What is up? 🐳');
    expect(record.answer).toMatchObject(
      {
        responses: { object: 'response' },
        messages: { type: 'message' },
        chat: { object: 'chat.completion' },
      }[caller],
    );
    expect(record).not.toHaveProperty('error');
    if (!stream) expect(record.answer).toEqual(JSON.parse(sent.text));
  },
);

test('what is redacted is never on disk, whichever side and member it is in; neither are credentials', async () => {
  const secrets = [
    'ann.lee@example.com',
    '4111 1111 1111 1111',
    'DE89 3704 0044 0532 0130 00',
    '192.0.2.17',
    'KD-123456',
    'sk-proj-abcdefghijklmnop1234',
    '+49 151 23456789',
  ];
  const words = secrets.join(', ');
  const body = {
    model: 'to-messages',
    messages: [{ role: 'user', content: words }],
    user: 'ben@example.com',
    metadata: { 'carl@example.com': '4111111111111111' },
  };
  const headers = {
    authorization: 'Bearer gwk_not-a-real-key-of-anybody-at-all',
    cookie: 'session=very-secret-cookie',
  };
  const sent = await send(PATHS.chat, body, headers);
  expect(sent.text).toContain('ann.lee@example.com');
  const record = await logged(sent.requestId);
  const shown = '[email], [card], [iban], [ip], [customer], [api-key], [phone]';
  expect(record.request).toMatchObject({ messages: [{ content: shown }], metadata: { '[email]': '[card]' } });
  expect(record.endUser).toBe('[email]');
  expect(JSON.stringify(record.answer)).toContain(shown);
  expect(record.redacted).toEqual({ email: 5, card: 3, iban: 2, ip: 2, customer: 2, 'api-key': 2, phone: 2 });
  const raw = await rawLog();
  for (const secret of [...secrets, 'ben@example', 'carl@', '4111111111111111', 'gwk_', 'very-secret-cookie'])
    expect(raw).not.toContain(secret);
});

test('without a pattern texts are written as they are; all that a rule names must fit', async () => {
  const body = requestOf('chat', 'raw', 'ann.lee@example.org');
  const other = await send(PATHS.chat, body);
  const own = await send(PATHS.chat, body, {}, { team: 'search' });
  expect(await logged(own.requestId)).toMatchObject({ team: 'search', request: body });
  expect(await linesOf(other.requestId)).toEqual([]);
});

test('pictures are replaced by what they are, and what is too long is cut where it is oldest', async () => {
  const data = Buffer.alloc(30_000, 7).toString('base64');
  const messages = [
    { role: 'user', content: 'first '.repeat(4000) },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }] },
    { role: 'user', content: 'last' },
  ];
  const sent = await send(PATHS.chat, { model: 'to-chat', messages });
  const record = await logged(sent.requestId);
  expect(record.cut).toEqual(['request']);
  const written = JSON.stringify(record.request);
  expect(written).toMatch(/\[image\/png, 30000 bytes, sha256 [0-9a-f]{16}\]/);
  expect(written).toContain('"last"');
  expect(written).toMatch(/first.*… \[cut, \d+ more characters\]/);
  expect(written.length).toBeLessThan(21_000);
});

test('an answer that breaks off is logged as far as it came, with its error', async () => {
  stack.first.script({ tokens: 20, cutAfter: 6 });
  const sent = await send(PATHS.chat, requestOf('chat', 'to-chat', 'Hello', { stream: true }));
  const record = await logged(sent.requestId);
  expect(record).toMatchObject({ isPartial: true, error: { code: 'upstream_failed' } });
  expect(JSON.stringify(record.answer)).toContain('assistant');
});

test('a request that no provider answers is logged with its error', async () => {
  stack.first.script({ status: 400 });
  const sent = await send(PATHS.messages, requestOf('messages', 'to-messages', 'Hello'));
  expect(sent.status).toBe(400);
  const record = await logged(sent.requestId);
  expect(record.answer).toBeNull();
  expect(record.error?.code).toBeTypeOf('string');
});

test('a caller keeps a request out of the log where the rule allows it, and is told where it does not', async () => {
  const off = { 'x-gateway-content-log': 'off' };
  const allowed = await send(PATHS.chat, requestOf('chat', 'free', 'Hello'), off);
  expect(allowed.status).toBe(200);
  const refused = await send(PATHS.chat, requestOf('chat', 'to-chat', 'Hello'), off);
  expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('content_log_required')]);
  const unknown = await send(PATHS.chat, requestOf('chat', 'free', 'Hello'), {
    'x-gateway-content-log': 'no',
  });
  expect(unknown.status).toBe(400);
  const wanted = await send(PATHS.chat, requestOf('chat', 'free', 'Hello'));
  await logged(wanted.requestId);
  for (const { requestId } of [allowed, refused, unknown]) expect(await linesOf(requestId)).toEqual([]);
});

test('what no rule names, what is not in the share and what is never stored is not logged', async () => {
  const sent = [];
  for (const model of ['quiet', 'rare', 'never'])
    sent.push(await send(PATHS.chat, requestOf('chat', model, 'Hello')));
  await logged((await send(PATHS.chat, requestOf('chat', 'free', 'Hello'))).requestId);
  for (const { requestId, status } of sent) {
    expect(status).toBe(200);
    expect(await linesOf(requestId)).toEqual([]);
  }
});

test('a turn over a WebSocket is logged as any other request', async () => {
  using socket = await text.webSocket();
  socket.send({ type: 'response.create', model: 'to-responses', input: 'Over a socket' });
  const line = await waitFor(async () =>
    (await rawLog()).split('\n').find((one) => one.includes('You said: Over a socket')),
  );
  expect(ContentRecord.parse(JSON.parse(line))).toMatchObject({
    request: { input: 'Over a socket' },
    answer: { object: 'response', status: 'completed' },
  });
});

test('a background response is logged once, by its worker, under the wish of its caller', async () => {
  await text.startWorker();
  const content = { model: 'to-chat', input: 'In the background' };
  const body = { ...content, background: true };
  const refused = await send(PATHS.responses, body, { 'x-gateway-content-log': 'off' });
  expect(refused.status).toBe(403);
  const sent = await send(PATHS.responses, body);
  expect(sent.status).toBe(200);
  expect(await logged(sent.requestId)).toMatchObject({
    request: content,
    answer: { object: 'response', status: 'completed' },
  });
  expect(await linesOf(sent.requestId)).toHaveLength(1);
});

test('an attempt at a line of a batch that is made again is not logged: the line that is can be deleted by its usage record', async () => {
  const identity = {
    ...{ keyId: 'key_one', keyName: 'one', team: null, models: null, endpoints: null, accounts: [] },
  };
  const body = Buffer.from(JSON.stringify(requestOf('chat', 'to-chat', 'In a batch')));
  const input = { model: 'to-chat', url: PATHS.chat, body, headers: {}, identity };
  const attempt = async (requestId: string, isTriedAgain: boolean) => {
    stack.first.script({ status: 500 });
    const { signal } = new AbortController();
    const context = {
      ...{ jobId: `job_${requestId}`, requestId, trace: undefined, signal, consumed: () => undefined },
      isTriedAgain: () => isTriedAgain,
    };
    await expect(answerLine(text.services, input, context)).rejects.toThrow();
  };
  await attempt('req_again', true);
  await attempt('req_over', false);
  expect(await logged('req_over')).toMatchObject({ id: 'job_req_over', answer: null });
  expect(await linesOf('req_again')).toEqual([]);
});

test('stored responses that continue one another have one session, that of the first, unless a caller names another', async () => {
  const sessions = async () => {
    const name = redisNames.records(new Date().toISOString().slice(0, 10));
    const found = (await stack.redis.xrange(name, '-', '+')).map(([, fields]) =>
      UsageRecord.parse(JSON.parse(fields[1] ?? '')),
    );
    return (requestId: string) => found.find((one) => one.requestId === requestId)?.session;
  };
  const ask = async (input: string, rest: object = {}, headers: Record<string, string> = {}) => {
    const sent = await send(PATHS.responses, { model: 'to-chat', input, ...rest }, headers);
    return { ...sent, id: z.object({ id: z.string() }).parse(JSON.parse(sent.text)).id };
  };
  const first = await ask('One');
  const second = await ask('Two', { previous_response_id: first.id });
  const third = await ask('Three', { previous_response_id: second.id });
  const named = await ask('Four', { previous_response_id: third.id }, { 'x-gateway-session': 'own' });
  const after = await ask('Five', { previous_response_id: named.id });
  const sessionOf = await waitFor(async () => {
    const found = await sessions();
    return found(after.requestId) === undefined ? undefined : found;
  });
  const chain = [first, second, third, named, after].map(({ requestId }) => sessionOf(requestId));
  expect(chain).toEqual([first.id, first.id, first.id, 'own', 'own']);
});

test('without a section nothing of the log is called', async () => {
  await using plain = await startPairs();
  const begin = vi.spyOn(plain.text.services.contentLog, 'begin');
  const reply = await plain.text.fetch(PATHS.chat, { body: requestOf('chat', 'to-chat', 'Hello') });
  expect(await reply.text()).toContain('You said: Hello');
  expect(begin).not.toHaveBeenCalled();
  expect(await readdir(plain.text.dataDir)).not.toContain('content-spool');
});
