import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { DIRECT } from '@gateway/upstream/connecting/network';
import { afterEach, expect, test } from 'vitest';
import type { Flow } from './flow-cookie.ts';
import { createIdentityProvider } from './identity-provider.ts';

/** A provider that signs with this key, and one that the provider does not have. */
const OWN = generateKeyPairSync('rsa', { modulusLength: 2048 });
const FORGED = generateKeyPairSync('rsa', { modulusLength: 2048 });

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const signed = (claims: object, key: KeyObject): string => {
  const text = `${part({ alg: 'RS256', kid: 'one' })}.${part(claims)}`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key, 'base64url')}`;
};

const running: Server[] = [];
afterEach(() => {
  for (const server of running.splice(0)) server.close();
});

interface Script {
  /** What the provider calls itself, for its real address. */
  readonly issuerOf?: (url: string) => string;
  readonly key?: KeyObject;
}

/** @returns what goes through a sign-in with it, and its address */
async function start({ issuerOf = (url) => url, key = OWN.privateKey }: Script = {}) {
  let nonce = '';
  const server = createServer((request, response) => {
    const url = `http://${request.headers.host}`;
    const issuer = issuerOf(url);
    const times = { iat: Math.floor(Date.now() / 1000), exp: Math.floor(Date.now() / 1000) + 60 };
    const answers: Record<string, object> = {
      '/.well-known/openid-configuration': {
        ...{
          issuer,
          authorization_endpoint: `${url}/auth`,
          token_endpoint: `${url}/token`,
          jwks_uri: `${url}/keys`,
        },
        id_token_signing_alg_values_supported: ['RS256'],
      },
      '/keys': {
        keys: [{ ...OWN.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }],
      },
      '/token': {
        ...{ access_token: 'x', token_type: 'bearer' },
        id_token: signed(
          { iss: issuer, sub: 'u-1', aud: 'gateway', nonce, groups: ['staff'], ...times },
          key,
        ),
      },
    };
    const answer = answers[request.url ?? ''];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? {}));
  }).listen(0, '127.0.0.1');
  running.push(server);
  await once(server, 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const signIn = async (issuer = url) => {
    const provider = createIdentityProvider(
      {
        ...{
          name: 'x',
          issuer: new URL(issuer),
          clientId: 'gateway',
          clientSecret: 'secret',
          scopes: 'openid',
        },
        ...{ consoleUrl: new URL('https://ops.example.com/gw'), basePath: '/gw', isSecure: true },
        mapping: { roleClaim: 'groups', adminValues: [], viewerValues: ['staff'], teams: null },
      },
      DIRECT,
      Date.now,
    );
    const { url: to, flow } = await provider.begin();
    nonce = flow.nonce;
    const whole: Flow = { ...flow, to: '/', expiresAtMs: Date.now() + 60_000 };
    const query = new URLSearchParams({ code: 'x', state: flow.state });
    return { to, claims: await provider.finish(query, whole) };
  };
  return { url, signIn };
}

test("a token that the provider's key has signed is taken, and the way back is below the path", async () => {
  const { to, claims } = await (await start()).signIn();
  expect(claims).toMatchObject({ sub: 'u-1', groups: ['staff'] });
  expect(to.searchParams.get('redirect_uri')).toBe(
    'https://ops.example.com/gw/admin/v1/session/oidc/callback',
  );
});

test('a token that another key has signed is refused', async () => {
  const { signIn } = await start({ key: FORGED.privateKey });
  await expect(signIn()).rejects.toMatchObject({ code: 'invalid_key' });
});

test('an issuer that differs by its last slash is named as the provider names it', async () => {
  const { url, signIn } = await start({ issuerOf: (own) => `${own}/realm/` });
  await expect(signIn()).rejects.toMatchObject({
    problem: 'wrong-issuer',
    message: expect.stringContaining(`issuer is '${url}/realm/'`),
  });
});

test('an address without a provider is said to be one', async () => {
  const { url, signIn } = await start();
  await expect(signIn(`${url}/nowhere`)).rejects.toMatchObject({
    problem: 'wrong-issuer',
    message: expect.stringContaining('404'),
  });
});
