import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import { json, type ProviderForTests, type ReceivedRequest, startProvider } from '../provider-for-tests.ts';
import { bodyOf, refusal, sendRequest } from '../sending/send-for-tests.ts';
import { startAuthorized } from './upstream-for-tests.ts';

const HOUR = 3_600;

interface TokenServer {
  readonly provider: ProviderForTests;
  readonly forms: URLSearchParams[];
  /** The token that is valid now. */
  token: string;
  expiresIn: number;
  answer: ((response: Parameters<ProviderForTests['answer']>[0]) => unknown) | null;
}

/** Issues `token-1`, `token-2` and so on for the client `gateway` with the secret `s3cret-of-the-client`. */
async function startTokenServer(): Promise<TokenServer> {
  const server: TokenServer = {
    provider: await startProvider((response, request) => {
      if (server.answer !== null) return server.answer(response);
      server.forms.push(new URLSearchParams(request.body));
      server.token = `token-${server.forms.length}`;
      return json(response, {
        access_token: server.token,
        token_type: 'Bearer',
        expires_in: server.expiresIn,
      });
    }),
    forms: [],
    token: '',
    expiresIn: HOUR,
    answer: null,
  };
  return server;
}

const oauth = ({ provider }: TokenServer, more = ''): string =>
  `{ type: oauth, tokenUrl: "${provider.origin}/token", clientId: gateway, clientSecret: s3cret-of-the-client, ${more} }`;

/** A provider that takes the server's present token only. */
const guarded = (server: TokenServer) =>
  startProvider((response, { headers }) =>
    headers.authorization === `Bearer ${server.token}`
      ? json(response, { ok: true })
      : json(
          response,
          { error: { message: `token ${headers.authorization} has expired`, code: '401' } },
          401,
        ),
  );

const tokensOf = (requests: readonly ReceivedRequest[]) =>
  requests.map(({ headers }) => headers.authorization);

test('many requests share one token, which the identity provider is asked for once', async () => {
  const server = await startTokenServer();
  const provider = await guarded(server);
  const { upstream } = await startAuthorized({
    one: { origin: provider.origin, auth: oauth(server, 'scope: all') },
  });
  await Promise.all(Array.from({ length: 5 }, () => sendRequest(upstream)));
  expect(tokensOf(provider.requests)).toEqual(Array(5).fill('Bearer token-1'));
  expect(server.forms.map(String)).toEqual(['grant_type=client_credentials&scope=all']);
  expect(server.provider.requests[0]?.headers.authorization).toBe(
    `Basic ${Buffer.from('gateway:s3cret-of-the-client').toString('base64')}`,
  );
});

test('the packages of the clouds are loaded when a source is first asked, and not before', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    await import('@gateway/upstream/open-upstream');
    console.log(loaded.filter((url) => /node_modules.(@aws-sdk|@azure|@smithy|@ai-sdk|google-auth)/.test(url)).length, loaded.length > 50);
  `;
  const options = { cwd: new URL('../../../../apps/text', import.meta.url) };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', script],
    options,
  );
  expect(stdout.trim()).toBe('0 true');
});

test('accounts with the same settings share a source, and those with another scope do not', async () => {
  const server = await startTokenServer();
  const provider = await startProvider();
  const auth = oauth(server, 'scope: one');
  await startAuthorized({
    a: { origin: provider.origin, auth },
    b: { origin: provider.origin, auth },
    c: { origin: provider.origin, auth: oauth(server, 'scope: two') },
  });
  await expect.poll(() => server.forms.map((form) => form.get('scope'))).toEqual(['one', 'two']);
});

test('a token is renewed before it expires, and the old one is used until the new one is there', async () => {
  const server = await startTokenServer();
  const provider = await startProvider();
  const fixture = await startAuthorized({ one: { origin: provider.origin, auth: oauth(server) } });
  await sendRequest(fixture.upstream);
  fixture.nowMs += (HOUR - 240) * 1000;
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  server.answer = async (response) => {
    asked.resolve();
    await go.promise;
    json(response, { access_token: 'token-new', expires_in: HOUR });
  };
  await sendRequest(fixture.upstream);
  await asked.promise;
  await sendRequest(fixture.upstream);
  expect(tokensOf(provider.requests)).toEqual(Array(3).fill('Bearer token-1'));
  go.resolve();
  await expect.poll(() => fixture.reports.length).toBe(2);
  await sendRequest(fixture.upstream);
  expect(tokensOf(provider.requests).at(-1)).toBe('Bearer token-new');
});

test('while the old token is valid a failed renewal is reported, and no request fails', async () => {
  const server = await startTokenServer();
  const provider = await startProvider();
  const fixture = await startAuthorized({ one: { origin: provider.origin, auth: oauth(server) } });
  await sendRequest(fixture.upstream);
  fixture.nowMs += (HOUR - 240) * 1000;
  server.answer = (response) => json(response, { error: 'temporarily_unavailable' }, 503);
  await sendRequest(fixture.upstream);
  await expect
    .poll(() => fixture.reports.at(-1)?.failure)
    .toMatch(/answered 503 without a token \(temporarily_unav/);
  expect(fixture.reports.at(-1)?.expiresAtMs).toBeGreaterThan(fixture.nowMs);
  expect(await bodyOf(await sendRequest(fixture.upstream))).toEqual({ ok: true });
});

test('a token that the provider calls expired is replaced once, within the same attempt', async () => {
  const server = await startTokenServer();
  const provider = await guarded(server);
  const fixture = await startAuthorized({ one: { origin: provider.origin, auth: oauth(server) } });
  await sendRequest(fixture.upstream);
  fixture.nowMs += 60_000;
  server.token = 'revoked';
  await Promise.all([sendRequest(fixture.upstream), sendRequest(fixture.upstream)]);
  expect(server.forms).toHaveLength(2);
  expect(tokensOf(provider.requests)).toEqual([
    ...['Bearer token-1', 'Bearer token-1', 'Bearer token-1', 'Bearer token-2', 'Bearer token-2'],
  ]);
  expect(fixture.attempts.map(({ outcome, status }) => [outcome, status])).toEqual(
    Array(3).fill(['ok', 200]),
  );
});

test('where a new token is refused as well, the next route answers and the account rests for the reason', async () => {
  const server = await startTokenServer();
  const refusing = await startProvider((response) =>
    json(response, { error: { message: 'no', code: '401' } }, 401),
  );
  const other = await startProvider();
  const auth = oauth(server, 'scope: wrong');
  const fixture = await startAuthorized({
    one: { origin: refusing.origin, auth },
    two: { origin: other.origin, auth },
  });
  await sendRequest(fixture.upstream);
  expect(refusing.requests).toHaveLength(1);
  expect(fixture.attempts.map(({ outcome }) => outcome)).toEqual(['misconfigured', 'ok']);
  expect(fixture.attempts[0]?.detail).toMatch(/scope wrong\): check the scope/);
  const [rest] = fixture.upstream.health.rests();
  expect(rest).toMatchObject({ channel: 'one', account: 'default', cause: 'no-credentials' });
  expect(rest?.reason).toMatch(
    /the provider refuses a token of 127.0.0.1:\d+ \(scope wrong\): check the scope/,
  );
  expect(rest?.untilMs).toBeLessThan(Number.POSITIVE_INFINITY);
});

test('an account whose source gives nothing is passed over; the reason goes to the operator and not to the caller', async () => {
  const server = await startTokenServer();
  server.answer = (response) =>
    json(
      response,
      { error: 'invalid_client', error_description: 'wrong s3cret-of-the-client\r\nTrace ID: 1' },
      401,
    );
  const provider = await startProvider();
  const fixture = await startAuthorized({ one: { origin: provider.origin, auth: oauth(server) } });
  const error = await refusal(fixture.upstream);
  expect(error.status('openai')).toBe(503);
  expect(error.message).not.toMatch(/invalid_client|127\.0\.0\.1/);
  expect(provider.requests).toHaveLength(0);
  const reason =
    /^it has no credentials: 127\.0\.0\.1:\d+ answered 401 without a token \(invalid_client: wrong \[removed\] Trace ID: 1\)$/;
  expect(fixture.upstream.health.rests()).toMatchObject([
    { channel: 'one', account: 'default', cause: 'no-credentials', reason: expect.stringMatching(reason) },
  ]);
  expect(fixture.reports[0]).toMatchObject({ channel: 'one', account: 'default', expiresAtMs: null });
});

test('an identity provider that hangs costs one request the bound, and the next route answers', async () => {
  const server = await startTokenServer();
  server.answer = () => undefined;
  const [silent, other] = [await startProvider(), await startProvider()];
  const { upstream, attempts } = await startAuthorized(
    {
      one: { origin: silent.origin, auth: oauth(server) },
      two: { origin: other.origin, provider: 'openai-compatible', speaks: '[responses]' },
    },
    { fetchMs: 50 },
  );
  await sendRequest(upstream);
  expect(attempts.map(({ channel, outcome }) => [channel, outcome])).toEqual([
    ['one', 'no-credentials'],
    ['two', 'ok'],
  ]);
  expect(attempts[0]?.detail).toEqual(
    expect.stringMatching(/^no credentials \(no answer within 50 ms: check that this machine reaches/),
  );
});

test('a caller who leaves while credentials are fetched ends its request, and nothing is sent', async () => {
  const server = await startTokenServer();
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  server.answer = async (response) => {
    asked.resolve();
    await go.promise;
    json(response, { access_token: 'token-1', expires_in: HOUR });
  };
  const provider = await startProvider();
  const fixture = await startAuthorized({ one: { origin: provider.origin, auth: oauth(server) } });
  const caller = new AbortController();
  const error = refusal(fixture.upstream, { signal: caller.signal });
  await asked.promise;
  caller.abort();
  expect((await error).code).toBe('client_closed_request');
  go.resolve();
  await sendRequest(fixture.upstream);
  expect(provider.requests).toHaveLength(1);
});

test('a secret file that rotates is read for every token', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'credentials-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'secret');
  await writeFile(file, 'first-secret\n');
  const server = await startTokenServer();
  const provider = await startProvider();
  const auth = `{ type: oauth, tokenUrl: "${server.provider.origin}/token", clientId: gateway, clientSecretFile: "${file}", clientAuth: body }`;
  const fixture = await startAuthorized({ one: { origin: provider.origin, auth } });
  await sendRequest(fixture.upstream);
  await writeFile(file, 'second-secret\n');
  fixture.nowMs += HOUR * 1000;
  await sendRequest(fixture.upstream);
  expect(server.forms.map((form) => form.get('client_secret'))).toEqual(['first-secret', 'second-secret']);
});

test("a token goes to the channel's own address only, and a redirect is not followed", async () => {
  const server = await startTokenServer();
  const elsewhere = await startProvider();
  const provider = await startProvider((response) => {
    response.writeHead(307, { location: `${elsewhere.origin}/v1/responses` });
    response.end();
  });
  const { upstream } = await startAuthorized({ one: { origin: provider.origin, auth: oauth(server) } });
  expect((await refusal(upstream)).code).toBe('upstream_misconfigured');
  expect(elsewhere.requests).toHaveLength(0);
});

test.for([
  [
    'without a secret',
    '{ type: oauth, tokenUrl: "https://a.example", clientId: a }',
    'auth.clientSecret: found nothing, expected either clientSecret or clientSecretFile',
  ],
  [
    'at an address in the clear',
    '{ type: oauth, tokenUrl: "http://a.example", clientId: a, clientSecret: b }',
    'auth.tokenUrl: found a text of 16 characters, expected a URL with https://',
  ],
  [
    'of an unknown type',
    '{ type: okta }',
    'auth.type: found "okta", expected a mapping with the type aws, google, entra or oauth',
  ],
  [
    'of AWS without a region',
    '{ type: aws, service: bedrock }',
    'auth.region: found nothing, expected the region that requests are signed for',
  ],
  [
    'of AWS with half of a key',
    '{ type: aws, region: a, service: b, accessKeyId: c }',
    'auth.secretAccessKey: found nothing, expected both accessKeyId and secretAccessKey, or neither',
  ],
  [
    'of a role without its ARN',
    '{ type: aws, region: a, service: b, externalId: c }',
    'auth.externalId: found "externalId", expected it only beside roleArn',
  ],
  [
    'of Entra without a scope',
    '{ type: entra, managedIdentity: true }',
    'auth.scope: found nothing, expected the scope of the tokens',
  ],
  [
    'of Entra in two ways',
    '{ type: entra, managedIdentity: true, clientSecret: s, scope: "a/.default" }',
    'auth.managedIdentity: found "managedIdentity", expected only one of clientSecret, clientSecretFile',
  ],
  [
    'with a relative path',
    '{ type: google, credentialsFile: a.json }',
    'auth.credentialsFile: found a text of 6 characters, expected an absolute path',
  ],
])('credentials %s are a mistake of the configuration', ([, auth, expected]) => {
  const text = `channels:\n  one: { provider: openai-compatible, baseUrl: "http://a/v1", auth: ${auth} }\nmodels: {}`;
  expect(() => parseConfiguration(text, 'gateway.yaml', {})).toThrow(`line 2, channels.one.${expected}`);
});
