import { hashOf } from '@gateway/metering/keys/key-secret';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import { emptyRedis } from '@gateway/metering/testing/records-in-redis';
import { emptyDatabase } from '@gateway/records/testing/empty-database';
import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { type TemporaryFolder, temporaryFolder } from '@gateway/testkit/temporary-folder';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type OpenedAccess, openAccess } from '../testing/open-access.ts';
import { GATEWAY_SECRET, type RunningAdmin, runAdmin, TOKEN } from '../testing/run-admin.ts';
import { cookieOf } from '../testing/use-admin.ts';
import { ALL } from './scope.ts';
import { createSessionStore, type NewSession } from './session-store.ts';

const HOUR_MS = 3_600_000;
const BEARER = { authorization: `Bearer ${TOKEN}` };
const BY = { who: 'ann', requestId: null };
const ANN: NewSession = {
  ...{ name: 'ann', method: 'token', role: 'admin', scope: ALL, keyHash: null },
  ...{ address: '127.0.0.1', userAgent: null },
};

let redisServer: TestRedis;
let redis: Redis;
let admin: RunningAdmin;
let folder: TemporaryFolder;
let access: OpenedAccess;

beforeAll(async () => {
  redisServer = await startRedis();
  redis = createRedis(redisServer.url, 'request');
  await redis.connect();
  folder = await temporaryFolder();
  admin = await runAdmin(redisServer.url, { GATEWAY_DATA_DIR: folder.path });
  access = await openAccess(redis, { GATEWAY_DATA_DIR: folder.path });
});
afterAll(async () => {
  await admin.stop();
  await access[Symbol.asyncDispose]();
  await folder.close();
  await redis.quit();
  await redisServer.close();
});
beforeEach(async () => {
  await emptyRedis(redis);
  await emptyDatabase(access.database);
});

const Reply = z.looseObject({
  id: z.string().optional(),
  permissions: z.array(z.string()).optional(),
  data: z.array(z.looseObject({ id: z.string() })).optional(),
  error: z.looseObject({ code: z.string() }).optional(),
});

interface CallOptions {
  readonly body?: unknown;
  readonly cookie?: string;
  readonly headers?: Record<string, string>;
}

async function call(method: string, path: string, { body, cookie, headers }: CallOptions = {}) {
  const response = await fetch(`${admin.url}/admin/v1${path}`, {
    method,
    headers: {
      origin: admin.url,
      ...(cookie !== undefined && { cookie }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: Reply.parse(await response.json()) };
}

async function signIn(name = 'ann'): Promise<{ cookie: string; id: string }> {
  const { headers, body } = await call('POST', '/session', { body: { token: TOKEN, name } });
  return { cookie: headers.get('set-cookie')?.split(';')[0] ?? '', id: body.id ?? '' };
}

const storeAt = (nowMs: number) =>
  createSessionStore({ redis, now: () => nowMs, maxSeconds: 12 * 3600, idleSeconds: 2 * 3600 });

test('the admin token is exchanged for a cookie that scripts, other sites and plain connections do not get', async () => {
  const { status, headers } = await call('POST', '/session', { body: { token: TOKEN, name: 'ann' } });
  expect(status).toBe(201);
  expect(headers.get('set-cookie')).toMatch(
    /^gateway_session=ses_[\w-]{22}\.[\w-]{43}; Path=\/admin; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  );
  const overTls = { origin: admin.url.replace('http:', 'https:') };
  const secure = await call('POST', '/session', { body: { token: TOKEN }, headers: overTls });
  expect(secure.headers.get('set-cookie')).toMatch(/; Secure$/);
});

test('a session makes calls as the token does, and its name stands in the audit log', async () => {
  const { cookie, id } = await signIn();
  expect((await call('GET', '/session', { cookie })).body).toMatchObject({ id, name: 'ann', role: 'admin' });
  expect((await call('POST', '/keys', { cookie, body: { name: 'search' } })).status).toBe(201);
  const { body } = await call('GET', '/audit', { cookie, headers: { 'x-gateway-actor': 'somebody else' } });
  expect(body.data).toMatchObject([
    { action: 'key.created', who: 'ann' },
    { action: 'session.opened', who: 'ann', subject: id },
  ]);
});

test.for([
  ['another token', { token: 'not-the-admin-token' }, 401],
  ['no token', {}, 400],
  ['a name that steers a terminal', { token: TOKEN, name: 'a\u001b[31m' }, 400],
] as const)('nobody is signed in with %s', async ([, body, status]) => {
  const reply = await call('POST', '/session', { body });
  expect(reply.status).toBe(status);
  expect(reply.headers.get('set-cookie')).toBeNull();
  expect(admin.output.join('\n')).not.toContain('not-the-admin-token');
});

test('after ten wrong tokens of an address the next gets a time to wait, and the right one signs in: others may share the address', async () => {
  const attempts = Array.from({ length: 10 }, () => call('POST', '/session', { body: { token: 'wrong' } }));
  expect((await Promise.all(attempts)).map(({ status }) => status)).toEqual(Array(10).fill(401));
  const refused = await call('POST', '/session', { body: { token: 'wrong' } });
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await call('POST', '/session', { body: { token: TOKEN } })).status).toBe(201);
});

test('attempts that succeed do not count', async () => {
  for (let at = 0; at < 12; at += 1)
    expect((await call('POST', '/session', { body: { token: TOKEN } })).status).toBe(201);
});

test.for([
  ['another origin', { origin: 'https://evil.example' }],
  ['another port of the same host', { origin: 'http://127.0.0.1:1' }],
  ['no origin', { origin: '' }],
  ['a frame without one', { origin: 'null' }],
  ['a page of the same site', { 'sec-fetch-site': 'same-site' }],
] as const)('a change with the cookie from %s is refused, and so is a sign-in', async ([, headers]) => {
  const { cookie } = await signIn();
  const change = await call('POST', '/keys', { cookie, body: { name: 'stolen' }, headers });
  expect([change.status, change.body.error?.code]).toEqual([403, 'origin_not_allowed']);
  expect((await call('POST', '/session', { body: { token: TOKEN }, headers })).status).toBe(403);
  expect((await call('GET', '/keys', { cookie })).body.data).toEqual([]);
});

test('a cookie without the right signature is no cookie', async () => {
  const { cookie } = await signIn();
  const forged = `${cookie.slice(0, -4)}AAAA`;
  expect((await call('GET', '/keys', { cookie: forged })).status).toBe(401);
});

test('signing out ends the session, and so does somebody who has it in the list', async () => {
  const ann = await signIn('ann');
  const ben = await signIn('ben');
  const listed = await call('GET', '/sessions', { cookie: ann.cookie });
  expect(listed.body.data).toMatchObject([{ name: 'ben' }, { name: 'ann' }]);
  expect((await call('DELETE', `/sessions/${ben.id}`, { cookie: ann.cookie })).status).toBe(200);
  expect((await call('GET', '/keys', { cookie: ben.cookie })).status).toBe(401);
  const out = await call('DELETE', '/session', { cookie: ann.cookie });
  expect(out.headers.get('set-cookie')).toMatch(/^gateway_session=; .*Max-Age=0/);
  expect((await call('GET', '/keys', { cookie: ann.cookie })).status).toBe(401);
});

test('a session ends when it has not been used for its idle time, and at its end however much it is used', async () => {
  const startMs = Date.now();
  const idle = await storeAt(startMs).open(ANN, BY);
  expect(await storeAt(startMs + 2 * HOUR_MS).use(idle.id)).toBeUndefined();
  const used = await storeAt(startMs).open(ANN, BY);
  for (let hour = 1; hour < 12; hour += 1)
    expect(await storeAt(startMs + hour * HOUR_MS).use(used.id)).toBeDefined();
  expect(await storeAt(startMs + 12 * HOUR_MS).use(used.id)).toBeUndefined();
});

test('a count of failures always ends, also one that was taken back just after its window', async () => {
  await redis.set('gateway:sign-in-failures', -1);
  await call('POST', '/session', { body: { token: 'wrong' } });
  expect(await redis.ttl('gateway:sign-in-failures')).toBeGreaterThan(0);
});

const keyStore = () => access.keys;

test('a key signs its holder in, sees its own part, and is stored nowhere', async () => {
  const { record, secret } = await keyStore().createKey({ name: 'search' }, BY);
  const { status, headers, body } = await call('POST', '/session', { body: { key: ` ${secret} ` } });
  expect([status, body]).toMatchObject([
    201,
    { name: 'search', method: 'key', role: 'key-holder', keyId: record.id, teams: null },
  ]);
  expect(body.permissions).toContain('GET /admin/v1/usage');
  expect(body.permissions).not.toContain('POST /admin/v1/keys');
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
  expect((await call('GET', `/keys/${record.id}`, { cookie })).status).toBe(200);
  const listed = JSON.stringify((await call('GET', '/sessions', { cookie: (await signIn()).cookie })).body);
  expect(listed).toContain('key-holder');
  const stored = await Promise.all((await redis.keys('*')).map((name) => redis.dumpBuffer(name)));
  for (const text of [listed, ...admin.output, ...stored.map((dump) => dump?.toString('latin1') ?? '')])
    expect(text).not.toContain(secret);
  expect(listed).not.toContain(hashOf(secret, GATEWAY_SECRET));
});

test.for<[string, (keys: KeyStore, id: string) => Promise<unknown>]>([
  ['revoked', (keys, id) => keys.revokeKey(id, BY)],
  ['disabled', (keys, id) => keys.updateKey(id, () => ({ name: 'x', disabled: true }), BY)],
  ['expired', (keys, id) => keys.updateKey(id, () => ({ name: 'x', expiresAt: '2020-01-01T00:00:00Z' }), BY)],
  ['given another secret', (keys, id) => keys.rotateKey(id, 0, BY)],
])('the session of a key ends when the key is %s', async ([, change]) => {
  const { record, secret } = await keyStore().createKey({ name: 'search' }, BY);
  const { headers } = await call('POST', '/session', { body: { key: secret } });
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
  expect((await call('GET', '/session', { cookie })).status).toBe(200);
  await change(keyStore(), record.id);
  expect((await call('GET', '/session', { cookie })).status).toBe(401);
  expect((await call('GET', '/sessions', { headers: BEARER })).body.data).toEqual([]);
});

test('wrong keys are bounded as wrong tokens are', async () => {
  const guess = () => call('POST', '/session', { body: { key: `gwk_${'x'.repeat(49)}` } });
  const attempts = await Promise.all(Array.from({ length: 10 }, guess));
  expect(attempts.map(({ status }) => status)).toEqual(Array(10).fill(401));
  expect((await guess()).status).toBe(429);
});

test.for([
  ['neither', {}],
  ['both', { token: TOKEN, key: 'gwk_x' }],
] as const)('a sign-in with %s of token and key is refused', async ([, body]) => {
  expect((await call('POST', '/session', { body })).status).toBe(400);
});

test('after ten wrong tokens on calls the next gets a time to wait, and the right one passes still', async () => {
  const guess = (path = '/keys') => call('GET', path, { headers: { authorization: 'Bearer guessed' } });
  for (let at = 0; at < 10; at += 1) expect((await guess()).status).toBe(401);
  const slowed = await guess();
  expect([slowed.status, slowed.body.error?.code]).toEqual([429, 'rate_limited']);
  expect(Number(slowed.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await call('GET', '/keys', { headers: BEARER })).status).toBe(200);
  expect((await call('POST', '/session', { body: { token: TOKEN } })).status).toBe(201);
});

test('a viewer looks at everything and changes nothing, whatever the page would show', async () => {
  const cookie = await cookieOf(redis, { role: 'viewer', scope: ALL });
  expect((await call('GET', '/keys', { cookie })).status).toBe(200);
  for (const [method, path, body] of [
    ['POST', '/keys', { name: 'mine' }],
    ['DELETE', '/keys/key_0', undefined],
    ['POST', '/channels/one/rest', {}],
    ['GET', '/sessions', undefined],
  ] as const) {
    const reply = await call(method, path, { cookie, body });
    expect([reply.status, reply.body.error?.code]).toEqual([403, 'endpoint_not_allowed']);
  }
});

test('sign-ins are counted by how they ended', async () => {
  await signIn();
  await call('POST', '/session', { body: { token: 'wrong' } });
  const page = await (await fetch(`${admin.url}/metrics`)).text();
  expect(page).toMatch(/gateway_console_sign_ins_total\{[^}]*outcome="ok"[^}]*\} [1-9]/);
  expect(page).toMatch(/gateway_console_sign_ins_total\{[^}]*outcome="refused"[^}]*\} [1-9]/);
});
