import { readFileSync } from 'node:fs';
import { BedrockRuntimeClient, InvokeModelCommand } from '@aws-sdk/client-bedrock-runtime';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { DIRECT } from '../../connecting/network.ts';
import { json, startProvider } from '../../provider-for-tests.ts';
import { refusal, sendRequest } from '../../sending/send-for-tests.ts';
import { createCredentialSource } from '../credential-source.ts';
import { startAuthorized } from '../upstream-for-tests.ts';
import { awsGate, type GateKeys, gateRefusal } from './aws-gate-for-tests.ts';

const Vectors = z.object({
  accessKeyId: z.string(),
  secretAccessKey: z.string(),
  vectors: z.array(
    z.object({
      name: z.string(),
      service: z.string(),
      region: z.string(),
      url: z.string(),
      body: z.string(),
      sessionToken: z.string().optional(),
      contentType: z.string().optional(),
      authorization: z.string(),
    }),
  ),
});
const { vectors, ...exampleKeys } = Vectors.parse(
  JSON.parse(readFileSync(new URL('fixtures/sigv4-vectors.json', import.meta.url), 'utf8')),
);

const REGION = 'eu-central-1';
const SERVICE = 'bedrock';
const KEYS: GateKeys = { accessKeyId: 'AKIDGATEWAY00001', secretAccessKey: 'own-secret-access-key-000001' };
const ok = (response: Parameters<typeof json>[0]) => json(response, { ok: true });
const gate = (keys: () => readonly GateKeys[], now?: () => number) =>
  startProvider(awsGate({ region: REGION, service: SERVICE, keys, ...(now && { now }) }, ok));
const auth = (members: string) => `{ type: aws, region: ${REGION}, service: ${SERVICE}, ${members} }`;
const ownKeys = `accessKeyId: ${KEYS.accessKeyId}, secretAccessKey: ${KEYS.secretAccessKey}`;

/** Nothing of the machine that runs the tests. */
beforeEach(() => {
  for (const name of ['AWS_PROFILE', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'])
    vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  vi.stubEnv('AWS_CONFIG_FILE', '/nowhere/config');
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere/credentials');
});
afterEach(() => vi.unstubAllEnvs());

test.for(vectors)(
  '$name is signed as AWS describes it',
  async ({ url, service, region, body, ...vector }) => {
    const { sessionToken, contentType = 'application/json' } = vector;
    const keys = { ...exampleKeys, ...(sessionToken !== undefined && { sessionToken }) };
    const source = createCredentialSource(
      { type: 'aws', service, region, ...keys },
      { network: DIRECT, onFetched: () => undefined, now: () => Date.parse('2026-11-25T12:00:00Z') },
    );
    const { origin } = new URL(url);
    const path = url.slice(origin.length);
    const headers = ['content-type', contentType, 'user-agent', 'not signed'];
    const made = await source.authorize({ method: 'POST', origin, path, headers, body });
    expect(made.headers).toContain(vector.authorization);
  },
);

/** What the gate says to a request of AWS' own client: its error code, or `taken`. The client itself would use HTTP/2. */
async function judged(region: string, credentials: GateKeys): Promise<string> {
  const requestHandler = {
    handle: (request: { method: string; path: string; headers: Record<string, string>; body?: unknown }) => {
      const { method, path: url, headers, body = '' } = request;
      const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
      const received = { method, url, headers: Object.fromEntries(lowered), body: String(body) };
      const refusal = gateRefusal(received, { region: REGION, service: SERVICE, keys: () => [KEYS] });
      return Promise.reject(new Error(refusal?.code ?? 'taken'));
    },
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
  };
  const client = new BedrockRuntimeClient({ region, credentials, maxAttempts: 1, requestHandler });
  const modelId = 'arn:aws:bedrock:eu-central-1:111122223333:application-inference-profile/x';
  return client.send(new InvokeModelCommand({ modelId, body: '{"a":"b"}' })).then(
    () => 'answered',
    (error: Error) => error.message,
  );
}

test("the stand-in for AWS' gate takes what AWS' own client signs, and refuses what is signed for elsewhere", async () => {
  expect(await judged(REGION, KEYS)).toBe('taken');
  expect(await judged('us-east-1', KEYS)).toBe('InvalidSignatureException');
  expect(await judged(REGION, { ...KEYS, secretAccessKey: 'another' })).toBe('InvalidSignatureException');
  expect(await judged(REGION, { ...KEYS, sessionToken: 'unknown' })).toBe('UnrecognizedClientException');
});

test('a request is signed when its bytes are final', async () => {
  const provider = await gate(() => [KEYS]);
  const { upstream, attempts } = await startAuthorized({
    one: { origin: provider.origin, auth: auth(ownKeys) },
  });
  await sendRequest(upstream, {
    request: () => ({
      operation: 'responses',
      method: 'POST',
      subpath: '/a%3Ab/c',
      query: 'beta=true&a=%20%2F',
      headers: { 'content-type': 'application/json', 'anthropic-beta': 'one' },
      body: Buffer.from('{"input":"Größe"}'),
    }),
  });
  expect(attempts).toMatchObject([{ outcome: 'ok', status: 200 }]);
});

test('no query of a caller spoils a signature, or brings the account to rest', async () => {
  const provider = await gate(() => [KEYS]);
  const { upstream, attempts } = await startAuthorized({
    one: { origin: provider.origin, auth: auth(ownKeys) },
  });
  const query = "beta=true&b=x+y&b=2&b=1&a&c=%zz&d=it's(*)&%C3%A4=1&X-Amz-Signature=1&x%2Damz-date=2";
  await sendRequest(upstream, {
    request: () => ({ operation: 'responses', method: 'POST', query, headers: {}, body: Buffer.from('{}') }),
  });
  expect(attempts).toMatchObject([{ outcome: 'ok', status: 200 }]);
  expect(provider.requests[0]?.url.split('?')[1]).toBe("beta=true&b=x%20y&b=2&b=1&a=&c=%25zz&d=it's(*)");
});

test('a wrong secret is reported with the region and the service', async () => {
  const provider = await gate(() => [{ ...KEYS, secretAccessKey: 'rotated' }]);
  const fixture = await startAuthorized({ one: { origin: provider.origin, auth: auth(ownKeys) } });
  expect((await refusal(fixture.upstream)).message).not.toMatch(/signature/);
  expect(provider.requests).toHaveLength(1);
  expect(fixture.attempts[0]?.detail).toMatch(
    /^answered 403, InvalidSignatureException, The request signature .*; check the secret access key.*; sent with AWS credentials \(the configured keys; signed for bedrock in eu-central-1\)$/,
  );
  expect(fixture.upstream.health.rests()).toMatchObject([{ cause: 'no-credentials' }]);
});

test('where the clock is wrong, the request is signed again by the clock of AWS, and later ones at once', async () => {
  const trueMs = Date.parse('2026-11-26T12:00:00Z');
  const provider = await gate(
    () => [KEYS],
    () => trueMs,
  );
  const fixture = await startAuthorized(
    { one: { origin: provider.origin, auth: auth(ownKeys) } },
    { nowMs: trueMs - 20 * 60_000 },
  );
  await Promise.all([1, 2, 3].map(() => sendRequest(fixture.upstream)));
  expect(provider.requests).toHaveLength(6);
  await sendRequest(fixture.upstream);
  expect(provider.requests).toHaveLength(7);
  expect(fixture.attempts.map(({ outcome }) => outcome)).toEqual(Array(4).fill('ok'));
});

/** Credentials of a container, and a role that may be assumed with them and an external id. */
async function startAccount() {
  const account = { issued: 0, hasExpired: false, lifeMs: 3_600_000, assumed: [] as URLSearchParams[] };
  const keysOf = (number: number): GateKeys => ({
    accessKeyId: `ASIAROLE0000000${number}`,
    secretAccessKey: `secret-of-role-${number}`,
    sessionToken: `session-${number}/+=`,
    hasExpired: account.hasExpired && number === account.issued,
  });
  const own: GateKeys = {
    accessKeyId: 'ASIACONTAINER001',
    secretAccessKey: 'secret-of-container',
    sessionToken: 'session',
  };
  const expiration = () => new Date(Date.now() + account.lifeMs).toISOString();
  const container = await startProvider((response, { headers }) =>
    headers.authorization === 'token-of-the-pod'
      ? json(response, {
          AccessKeyId: own.accessKeyId,
          SecretAccessKey: own.secretAccessKey,
          Token: own.sessionToken,
          Expiration: expiration(),
        })
      : json(response, { code: 'AccessDenied', message: 'no' }, 401),
  );
  const sts = await startProvider(
    awsGate({ region: REGION, service: 'sts', keys: () => [own] }, (response, { body }) => {
      const form = new URLSearchParams(body);
      account.assumed.push(form);
      if (form.get('ExternalId') !== 'external-1') {
        response.writeHead(403, { 'content-type': 'text/xml' });
        response.end(
          '<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>User: arn:aws:sts::1:assumed-role/pod is not authorized to perform: sts:AssumeRole</Message></Error></ErrorResponse>',
        );
        return;
      }
      account.issued += 1;
      account.hasExpired = false;
      const keys = keysOf(account.issued);
      response.writeHead(200, { 'content-type': 'text/xml' });
      response.end(
        `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>${keys.accessKeyId}</AccessKeyId><SecretAccessKey>${keys.secretAccessKey}</SecretAccessKey><SessionToken>${keys.sessionToken}</SessionToken><Expiration>${expiration()}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
      );
    }),
  );
  vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${container.origin}/credentials`);
  vi.stubEnv('AWS_CONTAINER_AUTHORIZATION_TOKEN', 'token-of-the-pod');
  vi.stubEnv('AWS_ENDPOINT_URL_STS', sts.origin);
  const provider = await gate(() => Array.from({ length: account.issued }, (_, index) => keysOf(index + 1)));
  return { account, provider };
}

const role = (externalId: string) =>
  auth(
    `roleArn: "arn:aws:iam::111122223333:role/gateway", externalId: ${externalId}, sessionName: gateway-1`,
  );

test("a role is assumed with the container's credentials and the external id; keys that AWS calls expired are replaced", async () => {
  const { account, provider } = await startAccount();
  const fixture = await startAuthorized({ one: { origin: provider.origin, auth: role('external-1') } });
  await sendRequest(fixture.upstream);
  await sendRequest(fixture.upstream);
  expect(account.assumed.map((form) => form.get('RoleSessionName'))).toEqual(['gateway-1']);
  account.hasExpired = true;
  fixture.nowMs += 60_000;
  await sendRequest(fixture.upstream);
  expect(account.issued).toBe(2);
  expect(fixture.attempts.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok']);
});

test('a role that may not be assumed leaves the account unready, with the reason of STS', async () => {
  const { provider } = await startAccount();
  const fixture = await startAuthorized({ one: { origin: provider.origin, auth: role('external-2') } });
  expect((await refusal(fixture.upstream)).code).toBe('no_available_channel');
  expect(fixture.upstream.health.rests()[0]?.reason).toMatch(
    /^it has no credentials: .*is not authorized to perform: sts:AssumeRole/,
  );
});
