import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { type Authority, makeAuthority } from '@gateway/testkit/make-authority';
import { type Squid, startSquid } from '@gateway/testkit/start-squid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fetchAsset } from '../fetching/fetch-asset.ts';
import { fetchUrl } from '../fetching/fetch-url.ts';
import { startProvider, startUpstream } from '../provider-for-tests.ts';
import type { Attempt } from '../replies/reply.ts';
import { bodyOf, MAX_BYTES, refusal, sendRequest } from '../sending/send-for-tests.ts';
import { fetchBy } from './fetch-by.ts';
import { environmentNetwork } from './network.ts';

const NAME = 'provider.test';

let squid: Squid;
let authority: Authority;
let stranger: Authority;
let secure: Server;
let securePort: number;
beforeAll(async () => {
  squid = await startSquid([NAME, 'forbidden.test']);
  authority = await makeAuthority([NAME, '127.0.0.1']);
  stranger = await makeAuthority(['127.0.0.1']);
  secure = createServer(authority, (request, response) => {
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ host: request.headers.host }));
  });
  await once(secure.listen(0, '127.0.0.1'), 'listening');
  const address = secure.address();
  securePort = typeof address === 'object' && address !== null ? address.port : 0;
});
afterAll(async () => {
  secure.closeAllConnections();
  secure.close();
  await squid[Symbol.asyncDispose]();
  await authority[Symbol.asyncDispose]();
  await stranger[Symbol.asyncDispose]();
});

const proxied = (url = squid.url) => `proxy: "${url}"`;

test('a provider is reached by the proxy, in a tunnel with https and forwarded with http', async () => {
  const provider = await startProvider();
  const plain = `http://${NAME}:${new URL(provider.origin).port}`;
  const hidden = `https://${NAME}:${securePort}`;
  for (const [origin, settings, expected] of [
    [plain, proxied(), { ok: true }],
    [hidden, `${proxied()}, caFile: "${authority.file}"`, { host: new URL(hidden).host }],
  ] as const) {
    const upstream = await startUpstream({ one: { origin, settings } });
    // One after the other, and side by side.
    for (const count of [1, 1, 8]) {
      const replies = await Promise.all(Array.from({ length: count }, () => sendRequest(upstream)));
      for (const reply of replies) expect(await bodyOf(reply)).toEqual(expected);
    }
  }
  const served = await squid.served();
  expect(served).toContain(`POST 200 ${plain}/v1/responses`);
  expect(provider.requests[0]).toMatchObject({
    url: '/v1/responses',
    headers: { host: new URL(plain).host, authorization: 'Bearer sk-secret-of-one-0123456789' },
  });
  expect(provider.requests[0]?.headers).not.toHaveProperty('proxy-authorization');
});

test('a channel that is direct passes by the proxy of the environment', async () => {
  const provider = await startProvider();
  const upstream = await startUpstream({ one: { origin: provider.origin, settings: 'proxy: direct' } });
  expect(await bodyOf(await sendRequest(upstream))).toEqual({ ok: true });
});

const FAILURES: readonly (readonly [string, (() => string) | string, string, RegExp])[] = [
  [
    'a wrong password',
    () => squid.address.replace('//', '//company:wr0ng@'),
    NAME,
    /answered 407: the user and/,
  ],
  ['no password', () => squid.address, NAME, /answered 407: the user and/],
  ['an address that it forbids', () => squid.url, 'forbidden.test', /answered 403: its rules do not allow/],
  ['a name that it does not know', () => squid.url, 'unknown.test', /answered 50\d: it cannot reach this/],
  [
    'a proxy that is not there',
    'http://127.0.0.1:9',
    NAME,
    /the proxy http:\/\/127\.0\.0\.1:9 cannot be reached: .*ECONNREFUSED/,
  ],
];

test.for(FAILURES)('%s is a failure of the channel that says so', async ([, url, host, detail]) => {
  const attempts: Attempt[] = [];
  const second = await startProvider();
  const channels = {
    one: {
      origin: `https://${host}:${securePort}`,
      settings: proxied(typeof url === 'string' ? url : url()),
    },
    two: { origin: second.origin },
  };
  const upstream = await startUpstream(channels, (attempt) => attempts.push(attempt));
  // It was certainly not sent.
  const reply = await sendRequest(upstream, { work: 'paid' });
  await reply.bytes(MAX_BYTES);
  expect(attempts).toMatchObject([{ outcome: 'unreachable' }, { channel: 'two', outcome: 'ok' }]);
  expect(attempts[0]?.detail).toMatch(detail);
  for (const secret of [squid.password, encodeURIComponent(squid.password), 'wr0ng', 'company:'])
    expect(JSON.stringify(attempts)).not.toContain(secret);
});

test('a certificate is accepted only of an authority that is known', async () => {
  const origin = `https://127.0.0.1:${securePort}`;
  const known = await startUpstream({ one: { origin, settings: `caFile: "${authority.file}"` } });
  expect(await bodyOf(await sendRequest(known))).toEqual({ host: new URL(origin).host });
  for (const settings of ['', `caFile: "${stranger.file}"`]) {
    const attempts: Attempt[] = [];
    const unknown = await startUpstream({ one: { origin, settings } }, (attempt) => attempts.push(attempt));
    expect(await refusal(unknown)).toMatchObject({ code: 'upstream_unreachable' });
    expect(attempts[0]?.detail).toMatch(/caFile, or to NODE_EXTRA_CA_CERTS/);
  }
});

test('an authority of NODE_EXTRA_CA_CERTS is known to every connection', async () => {
  const script = `
    const { fetchBy } = await import('${new URL('./fetch-by.ts', import.meta.url)}');
    const { DIRECT } = await import('${new URL('./network.ts', import.meta.url)}');
    const reply = await fetchBy(DIRECT)('https://127.0.0.1:${securePort}', { method: 'GET', headers: {} });
    console.log(reply.status);
  `;
  const env = { NODE_EXTRA_CA_CERTS: authority.file };
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { env });
  expect(stdout).toBe('200\n');
});

test('results are fetched by the proxy, still not from addresses that are not public', async () => {
  const files = await startProvider((response) => response.writeHead(200).end('png'));
  const { port } = new URL(files.origin);
  const upstream = await startUpstream({ one: { origin: `http://${NAME}:1`, settings: proxied() } });
  const channel = upstream.configuration.channels.get('one');
  if (channel === undefined) throw new Error('no channel');
  const fetchFrom = (url: string) =>
    fetchAsset({ url, channel, maxBytes: 99 }, ({ chunks }) => buffer(chunks));
  // The proxy knows this name, and nobody else does.
  expect((await fetchFrom(`http://${NAME}:${port}/a`)).toString()).toBe('png');
  const before = files.requests.length;
  for (const host of [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '10.0.0.1',
    'intranet',
    'files.internal',
    'localhost.',
  ])
    await expect(fetchFrom(`http://${host}:${port}/a`)).rejects.toMatchObject({ code: 'upstream_failed' });
  expect(files.requests.length).toBe(before);
});

test("a caller's image is fetched by the proxy, also after a redirect, and no inner name is", async () => {
  const files = await startProvider((response, { url }) =>
    url === '/moved' ? response.writeHead(302, { location: '/a' }).end() : response.writeHead(200).end('png'),
  );
  const { port } = new URL(files.origin);
  const fetchFrom = (url: string) =>
    fetchUrl(
      {
        ...{ url, trustedOrigins: [], maxBytes: 99, connectMs: 5000, signal: AbortSignal.timeout(30_000) },
        network: environmentNetwork({ HTTP_PROXY: squid.url }),
      },
      ({ chunks }) => buffer(chunks),
    );
  expect((await fetchFrom(`http://${NAME}:${port}/moved`)).toString()).toBe('png');
  expect(await squid.served()).toContain(`GET 200 http://${NAME}:${port}/a`);
  for (const host of ['127.0.0.1', '169.254.169.254', 'metadata.google.internal', 'intranet'])
    await expect(fetchFrom(`http://${host}:${port}/a`)).rejects.toMatchObject({ fault: 'private' });
});

test('an identity provider is asked by the proxy of the environment', async () => {
  const provider = await startProvider();
  const network = environmentNetwork({ HTTP_PROXY: squid.url });
  const url = `http://${NAME}:${new URL(provider.origin).port}/token`;
  const reply = await fetchBy(network)(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ code: 'a b' }),
  });
  expect(await reply.json()).toEqual({ ok: true });
  expect(provider.requests).toMatchObject([{ method: 'POST', url: '/token', body: 'code=a+b' }]);
});
