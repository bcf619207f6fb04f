import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey, revokeKey } from './support/admin-keys.ts';
import { ONE_PROVIDER, PROVIDER_KEY } from './support/configuration.ts';
import { logLine } from './support/log-lines.ts';
import { pngFile, wavFile } from './support/media-files.ts';
import { type Gateway, type GatewayRequest, startGateway } from './support/start-gateway.ts';

/** After a varied run, looks for every secret wherever it should not be. */

/** In everything that a caller sends. */
const PROMPT = 'zebra-crossing';
const WRONG_KEY = 'gwk_a-wrong-key-with-a-typo-in-it-0000000000000000000';
/** In everything that the provider answers. */
const ANSWERED = 'giraffe-neck';

let gateway: Gateway;
let madeKey: string;
let revokedKey: string;
/** What callers got that was no success: head and body. */
const refusals: string[] = [];

async function ask(path: string, request: GatewayRequest = {}): Promise<void> {
  const response = await gateway.fetch(path, request);
  const body = await response.text().catch((error: unknown) => String(error));
  if (response.status >= 400) refusals.push(`${JSON.stringify([...response.headers])}\n${body}`);
}

const form = (parts: Record<string, string | File>): GatewayRequest => {
  const body = new FormData();
  for (const [name, value] of Object.entries(parts)) body.append(name, value);
  return { body };
};

const TEXT = { model: 'gpt-5.2', input: PROMPT, instructions: PROMPT, metadata: { [PROMPT]: PROMPT } };
const MESSAGE = {
  model: 'claude-sonnet-5-5',
  max_tokens: 99,
  system: PROMPT,
  messages: [{ role: 'user', content: PROMPT }],
};

beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    env: { LOG_LEVEL: 'trace' },
    configuration: (origin) =>
      `${ONE_PROVIDER(origin)}
  refused: { kind: text, routes: [{ channel: refused }] }
  refused-in-the-background: { kind: text, routes: [{ channel: refused, quirks: { backgroundResponses: false } }] }
`.replace(
        'channels:',
        `channels:\n  refused: { provider: simulator, baseUrl: "${origin}", apiKey: sk-invalid-${PROVIDER_KEY} }`,
      ),
  });
  const { stack, simulator } = gateway;
  ({ key: madeKey } = await createKey(stack, { name: 'made' }));
  const revoked = await createKey(stack, { name: 'revoked' });
  revokedKey = revoked.key;
  await revokeKey(stack, revoked.id);

  for (const key of [stack.key, madeKey, revokedKey, WRONG_KEY]) {
    const headers = { authorization: `Bearer ${key}` };
    for (const stream of [false, true]) {
      simulator.script({ text: ANSWERED });
      await ask('/v1/responses', { json: { ...TEXT, stream }, headers });
      simulator.script({ text: ANSWERED });
      await ask('/v1/messages', {
        json: { ...MESSAGE, stream },
        headers: { authorization: '', 'x-api-key': key, 'anthropic-version': '2023-06-01' },
      });
    }
    await ask(`/v1/responses/resp_1?secret=${PROMPT}&key=${key}`, { headers });
  }
  simulator.reset();

  await ask('/v1/images/generations', { json: { model: 'dall-e-3', prompt: PROMPT } });
  await ask('/v1/images/generations', {
    json: { model: 'dall-e-3', prompt: `${PROMPT} [[simulate content-policy]]` },
  });
  await ask('/v1/images/edits', form({ model: 'dall-e-2', prompt: PROMPT, image: pngFile(`${PROMPT}.png`) }));
  await ask('/v1/audio/speech', { json: { model: 'tts-1', voice: 'alloy', input: PROMPT } });
  await ask(
    '/v1/audio/transcriptions',
    form({ model: 'whisper-1', prompt: PROMPT, file: wavFile(1, `${PROMPT}.wav`) }),
  );

  // Refused by the gateway: no parser and no check may repeat what was sent.
  const json = { 'content-type': 'application/json' };
  await ask('/v1/responses', { body: `{"input":"${PROMPT}" ${PROMPT}}`, headers: json });
  await ask('/v1/messages', { body: `${PROMPT}`, headers: json });
  await ask('/v1/responses', { json: { ...TEXT, temperature: 9 } });
  await ask('/v1/responses', { body: PROMPT, headers: { 'content-type': 'text/plain' } });
  await ask(
    '/v1/audio/transcriptions',
    form({ model: 'whisper-1', file: new File([PROMPT], `${PROMPT}.wav`) }),
  );
  await ask(`/v1/nothing?${PROMPT}`, { json: TEXT });
  await rawRequest(`POST /v1/responses HTTP/1.1\r\nAuthorization: Bearer ${stack.key}\r\n${PROMPT}\r\n\r\n`);

  // A provider that fails, with secrets in what it says. Of a caller's mistake it quotes the caller.
  const telling = (status: number, where = simulator.url) => ({
    error: {
      message: `${PROVIDER_KEY} of ${where} ${status === 400 ? PROMPT : ''}`,
      type: 'x',
      code: PROVIDER_KEY,
    },
  });
  for (const status of [400, 401, 404, 429, 500, 503]) {
    const headers = { 'x-provider-key': PROVIDER_KEY, 'set-cookie': PROVIDER_KEY };
    simulator.script({ status, json: telling(status), headers });
    await ask('/v1/responses', { json: TEXT });
    // An Anthropic provider's words are relayed as they are, but for our key.
    simulator.script({ status, json: { type: 'error', ...telling(status, '') }, headers });
    await ask('/v1/messages', { json: MESSAGE });
    simulator.script({ status, json: telling(status), headers });
    await ask('/v1/audio/speech', { json: { model: 'tts-1', voice: 'alloy', input: PROMPT } });
  }
  for (const fault of [
    'html',
    'empty',
    'garbage',
    'close-before-response',
    'cut-after=3',
    'error-event-after=3',
  ])
    await ask('/v1/responses', { json: { ...TEXT, stream: true, input: `${PROMPT} [[simulate ${fault}]]` } });
  await ask('/v1/responses', { json: { ...TEXT, model: 'refused' } });
  // Of a worker: the stream ends with the failure.
  const inBackground = { ...TEXT, model: 'refused-in-the-background', background: true, stream: true };
  const failed = await gateway.fetch('/v1/responses', { json: inBackground });
  refusals.push(await failed.text());
  await ask('/v1/responses', { json: TEXT, headers: { 'x-request-id': 'request-that-is-the-last' } });
  await logLine(gateway, 'text', 'request-that-is-the-last');
  await logLine(gateway, 'edge', 'request-that-is-the-last');
});
afterAll(() => gateway?.close());

const secretFile = (name: string) => readFile(join(gateway.dataFolder, 'secrets', name), 'utf8');

/** Secrets of everybody, by what they are. */
async function keys(): Promise<Record<string, string>> {
  return {
    "the bootstrap key, a caller's": gateway.key,
    'a key that was made': madeKey,
    'a key that was revoked': revokedKey,
    'a wrong key': WRONG_KEY,
    "the provider's key": PROVIDER_KEY,
    GATEWAY_SECRET: (await secretFile('gateway-secret')).trim(),
    GATEWAY_ADMIN_TOKEN: gateway.stack.adminToken,
  };
}

function expectNone(text: string, secrets: Record<string, string>, place: string): void {
  for (const [what, secret] of Object.entries(secrets)) {
    expect(secret.length, what).toBeGreaterThan(8);
    const at = text.indexOf(secret);
    const around = text.slice(Math.max(0, at - 200), at + 100);
    expect(at === -1 ? '' : around, `${what} in ${place}`).toBe('');
  }
}

test('the run was varied', () => {
  const { requests } = gateway.simulator;
  expect(new Set(requests.map(({ path }) => path)).size).toBeGreaterThan(5);
  expect(requests.some(({ body }) => body.includes(PROMPT))).toBe(true);
  expect(refusals.length).toBeGreaterThan(30);
  expect(new Set(gateway.lines.map(({ process }) => process)).size).toBe(9);
});

test('no log has a key, a secret, a prompt or an answer', async () => {
  const logs = gateway.lines.map(({ process, text }) => `${process} ${text}`).join('\n');
  const { password } = new URL(gateway.stack.redisUrl);
  expectNone(
    logs,
    { ...(await keys()), 'the password of Redis': password, 'a prompt': PROMPT, 'an answer': ANSWERED },
    'a log',
  );
});

test('no error has a key, a secret, or where the provider is', async () => {
  const { host } = new URL(gateway.simulator.url);
  const errors = refusals.join('\n');
  expectNone(errors, { ...(await keys()), "the provider's address": host }, 'an error');
});

test('Redis has no key in clear, nor has any file beside the secrets', async () => {
  const redis = new Redis(gateway.stack.redisUrl);
  const dump = await everythingIn(redis);
  await redis.quit();
  expect(dump).toContain('gateway:');
  expectNone(dump, await keys(), 'Redis');
  const entries = await readdir(gateway.dataFolder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.endsWith('/secrets'));
  expect(files.length).toBeGreaterThan(2);
  for (const { parentPath, name } of files)
    expectNone(await readFile(join(parentPath, name), 'latin1'), await keys(), name);
});

test("the provider gets its own key and nobody else's", async () => {
  const { "the provider's key": _, ...others } = await keys();
  const heads = gateway.simulator.requests.map(({ rawHeaders }) => rawHeaders.join('\n')).join('\n');
  expect(heads).toContain(PROVIDER_KEY);
  expectNone(heads, others, 'a request to the provider');
});

async function everythingIn(redis: Redis): Promise<string> {
  const readers: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => redis.get(key),
    hash: (key) => redis.hgetall(key),
    list: (key) => redis.lrange(key, 0, -1),
    set: (key) => redis.smembers(key),
    zset: (key) => redis.zrange(key, '0', '-1'),
    stream: (key) => redis.xrange(key, '-', '+'),
    // It has expired since it was listed.
    none: () => Promise.resolve(null),
  };
  const all = await Promise.all(
    (await redis.keys('*')).map(async (key) => {
      const read = readers[await redis.type(key)];
      if (read === undefined) throw new Error(`no reader for ${key}`);
      return `${key} ${JSON.stringify(await read(key))}`;
    }),
  );
  return all.join('\n');
}

/** Bytes that are no HTTP, and the answer. */
async function rawRequest(text: string): Promise<void> {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  socket.end(text);
  const chunks = await socket.toArray();
  refusals.push(chunks.join(''));
}
