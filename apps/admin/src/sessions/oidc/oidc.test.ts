import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GATEWAY_SECRET, type RunningAdmin, runAdmin, TOKEN } from '../../testing/run-admin.ts';
import { createFlowCookies } from './flow-cookie.ts';

/** Nothing listens there. */
const AWAY = 'http://127.0.0.1:9';
const SETTINGS = {
  CONSOLE_URL: 'http://127.0.0.1:8090',
  OIDC_ISSUER: AWAY,
  OIDC_CLIENT_ID: 'gateway',
  OIDC_CLIENT_SECRET: 'the secret of the client',
  OIDC_NAME: 'Example login',
  OIDC_ADMIN_VALUES: 'admins',
};

let redisServer: TestRedis;
let redis: Redis;
let admin: RunningAdmin;
beforeAll(async () => {
  redisServer = await startRedis();
  redis = createRedis(redisServer.url, 'request');
  await redis.connect();
  admin = await runAdmin(redisServer.url, SETTINGS);
});
afterAll(async () => {
  await admin.stop();
  await redis.quit();
  await redisServer.close();
});

/** An identity provider that answers is in the tests of the console. */
async function go(path: string, headers: Record<string, string> = {}) {
  const reply = await fetch(`${admin.url}/admin/v1${path}`, { headers, redirect: 'manual' });
  return {
    status: reply.status,
    location: reply.headers.get('location'),
    cookies: reply.headers.getSetCookie(),
    text: await reply.text(),
  };
}

const signInWithToken = () =>
  fetch(`${admin.url}/admin/v1/session`, {
    method: 'POST',
    headers: { origin: admin.url, 'content-type': 'application/json' },
    body: JSON.stringify({ token: TOKEN }),
  });

const cookiesAt = (nowMs: number, gatewaySecret = GATEWAY_SECRET) =>
  createFlowCookies({ gatewaySecret, basePath: '', now: () => nowMs, isSecure: false });

/** The header of a browser that began a sign-in. */
const begun = (cookies = cookiesAt(Date.now())): Record<string, string> => {
  const flow = { state: 'the-state', nonce: 'the-nonce', verifier: 'the-verifier', to: '/' };
  return { cookie: cookies.create(flow).split(';')[0] ?? '' };
};

test('the sign-in page learns the name of the identity provider, and nothing else of it', async () => {
  expect(JSON.parse((await go('/sign-in')).text)).toEqual({
    oidc: { name: 'Example login' },
    password: false,
  });
});

test('a provider that does not answer leads back to the sign-in page, where the token works', async () => {
  expect(await go('/session/oidc')).toMatchObject({
    ...{ status: 303, location: '/console/sign-in?problem=unreachable', cookies: [] },
  });
  expect((await signInWithToken()).status).toBe(201);
});

test("a provider's failures are nobody's attempts", async () => {
  for (let at = 0; at < 12; at += 1)
    expect(await go('/session/oidc/callback?code=x&state=the-state', begun())).toMatchObject({
      location: '/console/sign-in?problem=unreachable',
    });
  expect((await signInWithToken()).status).toBe(201);
});

test.for<[string, () => Record<string, string>]>([
  ['without a cookie', () => ({})],
  ['with a cookie that somebody else signed', () => begun(cookiesAt(Date.now(), `${GATEWAY_SECRET}!`))],
  ['with a cookie of a quarter of an hour ago', () => begun(cookiesAt(Date.now() - 15 * 60_000))],
  ['with the cookie of another state', () => ({ ...begun(), 'x-state': 'other' })],
])('a way back %s is refused, and costs no attempt of the address', async ([, headersOf]) => {
  const { 'x-state': state = 'the-state', ...headers } = headersOf();
  for (let at = 0; at < 12; at += 1) {
    const reply = await go(`/session/oidc/callback?code=x&state=${state}`, headers);
    expect(reply.location).toBe('/console/sign-in?problem=expired');
    expect(reply.cookies).toEqual([expect.stringMatching(/^gateway_oidc=; .*Max-Age=0/)]);
  }
  expect((await signInWithToken()).status).toBe(201);
});

test.for(['/', '/models?kind=text', '/keys?to=//x&q=%2F#a', '/.well-known', '/a.b'])(
  'the page %j may be gone to',
  async (to) => {
    expect((await go(`/session/oidc?to=${encodeURIComponent(to)}`)).status).toBe(303);
  },
);

test.for([
  ...[
    'https://evil.example',
    '//\u0000',
    'models',
    '/a b',
    '/..',
    '/../admin/v1/keys',
    '/a/../../admin/',
    '//evil.example',
  ],
  ...['/\\evil.example', '/%2e%2e/admin/', '/..%2fadmin', '/%5cevil', '/a\r\nset-cookie:x', '/a//b', '/%00'],
])('the page %j is not gone to', async (to) => {
  expect((await go(`/session/oidc?to=${encodeURIComponent(to)}`)).status).toBe(400);
});

test('settings that do not fit together end the start with their names, and without the secret', async () => {
  const start = runAdmin(redisServer.url, { ...SETTINGS, CONSOLE_URL: '' });
  await expect(start).rejects.toThrow(/OIDC_ISSUER also needs .* CONSOLE_URL/);
  await expect(start).rejects.not.toThrow(/the secret of the client/);
});

test('refusals are counted and logged by method, without code or cookie', async () => {
  await go('/session/oidc/callback?code=a-code-in-the-log&state=forged');
  const page = await (await fetch(`${admin.url}/metrics`)).text();
  expect(page).toMatch(/gateway_console_sign_ins_total\{[^}]*method="oidc",outcome="refused"[^}]*\} [1-9]/);
  expect(page).toMatch(/gateway_console_sign_ins_total\{[^}]*method="oidc",outcome="failed"[^}]*\} [1-9]/);
  const written = admin.output.join('\n');
  expect(written).toContain('sign-in refused');
  for (const secret of ['a-code-in-the-log', 'the-verifier', 'the secret of the client'])
    expect(written).not.toContain(secret);
});
