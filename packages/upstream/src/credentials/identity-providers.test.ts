import { execFileSync } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, verify, X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { json, startProvider } from '../provider-for-tests.ts';
import { refusal, sendRequest } from '../sending/send-for-tests.ts';
import { awsGate, type GateKeys } from './aws/aws-gate-for-tests.ts';
import { startHosts } from './hosts-for-tests.ts';
import { startAuthorized } from './upstream-for-tests.ts';

const HOUR_MS = 3_600_000;
const REGION = 'eu-central-1';
const BEDROCK = `bedrock-runtime.${REGION}.amazonaws.com`;
const STS = `sts.${REGION}.amazonaws.com`;
const ROLE = 'roleArn: "arn:aws:iam::111122223333:role/gateway"';

const OF_CLOUDS = [
  ...['AWS_PROFILE', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'AWS_ROLE_ARN'],
  ...['AWS_WEB_IDENTITY_TOKEN_FILE', 'AWS_REGION', 'AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_STS'],
  ...['AWS_CONTAINER_CREDENTIALS_FULL_URI', 'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'],
  ...['GOOGLE_APPLICATION_CREDENTIALS', 'GOOGLE_CLOUD_PROJECT', 'GCE_METADATA_HOST'],
  ...['IDENTITY_ENDPOINT', 'IDENTITY_HEADER'],
];

/** Nothing of the machine that runs the tests. */
beforeEach(() => {
  for (const name of OF_CLOUDS) vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  vi.stubEnv('AWS_CONFIG_FILE', '/nowhere/config');
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere/credentials');
  vi.stubEnv('HOME', '/nowhere');
});
afterEach(() => vi.unstubAllEnvs());

async function folder() {
  const path = await mkdtemp(join(tmpdir(), 'identity-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return {
    async put(name: string, content: string): Promise<string> {
      await writeFile(join(path, name), content);
      return join(path, name);
    },
  };
}

const aws = (members: string) => `{ type: aws, region: ${REGION}, service: bedrock, ${members} }`;
const keysOf = (name: string): GateKeys => ({
  accessKeyId: `AKIA${name.toUpperCase()}`,
  secretAccessKey: `secret-of-${name}`,
});
const rolesKeys = (number: number): GateKeys => ({
  ...keysOf(`role${number}`),
  sessionToken: `session-${number}`,
});

/** Bedrock and STS. `admits` says why an identity may not have the role; null: it may. */
async function startAws(admits: (form: URLSearchParams, keyId: string) => string | null) {
  const account = { issued: 0, valid: [] as GateKeys[] };
  const hosts = await startHosts({
    [BEDROCK]: awsGate({ region: REGION, service: 'bedrock', keys: () => account.valid }, (response) =>
      json(response, { ok: true }),
    ),
    [STS]: (response, { body, headers }) => {
      const form = new URLSearchParams(body);
      const keyId = /Credential=([^/]+)/.exec(headers.authorization ?? '')?.[1] ?? '';
      const why = admits(form, keyId);
      const xml = (status: number, text: string) => {
        response.writeHead(status, { 'content-type': 'text/xml' });
        response.end(text);
      };
      if (why !== null)
        return xml(
          400,
          `<ErrorResponse><Error><Type>Sender</Type><Code>InvalidIdentityToken</Code><Message>${why}</Message></Error></ErrorResponse>`,
        );
      account.issued += 1;
      const keys = rolesKeys(account.issued);
      account.valid = [keys];
      const action = form.get('Action');
      return xml(
        200,
        `<${action}Response><${action}Result><Credentials><AccessKeyId>${keys.accessKeyId}</AccessKeyId><SecretAccessKey>${keys.secretAccessKey}</SecretAccessKey><SessionToken>${keys.sessionToken}</SessionToken><Expiration>${new Date(Date.now() + HOUR_MS).toISOString()}</Expiration></Credentials></${action}Result></${action}Response>`,
      );
    },
  });
  return { account, hosts, origin: `https://${BEDROCK}` };
}

test("a web identity's token, which rotates, is exchanged at STS by the channel's proxy", async () => {
  const files = await folder();
  const token = await files.put('token', 'first.jwt.x');
  const { account, hosts, origin } = await startAws(() => null);
  const auth = aws(`${ROLE}, webIdentityTokenFile: "${token}"`);
  const fixture = await startAuthorized({ one: { origin, auth } }, { settings: hosts.settings });
  await sendRequest(fixture.upstream);
  await files.put('token', 'second.jwt.x');
  fixture.nowMs += HOUR_MS;
  await sendRequest(fixture.upstream);
  const forms = hosts.requests[STS]?.map(({ body }) => new URLSearchParams(body)) ?? [];
  expect(forms.map((form) => form.get('WebIdentityToken'))).toEqual(['first.jwt.x', 'second.jwt.x']);
  expect(forms.map((form) => form.get('Action'))).toEqual(Array(2).fill('AssumeRoleWithWebIdentity'));
  expect(account.issued).toBe(2);
  expect(hosts.tunnels).toContain(`${STS}:443`);
});

test('a web identity that STS does not know, and one whose file is missing, are said to the operator', async () => {
  const files = await folder();
  const token = await files.put('token', 'first.jwt.x');
  const { hosts, origin } = await startAws(
    () => 'No OpenIDConnect provider found in your account for https://oidc.example',
  );
  const reasonWith = async (file: string) => {
    const auth = aws(`${ROLE}, webIdentityTokenFile: "${file}"`);
    const { upstream } = await startAuthorized({ one: { origin, auth } }, { settings: hosts.settings });
    expect((await refusal(upstream)).code).toBe('no_available_channel');
    return upstream.health.rests()[0]?.reason;
  };
  expect(await reasonWith(token)).toMatch(
    /^it has no credentials: No OpenIDConnect .*: check the identity provider in IAM/,
  );
  expect(await reasonWith('/nowhere/token')).toMatch(
    /ENOENT.*: check the path in auth, and that the file is mounted$/,
  );
});

test("a profile's role is assumed with the keys of its source profile, and a missing profile is named", async () => {
  const files = await folder();
  vi.stubEnv(
    'AWS_CONFIG_FILE',
    await files.put(
      'config',
      '[profile prod]\nrole_arn = arn:aws:iam::111122223333:role/prod\nsource_profile = base\n',
    ),
  );
  const keys = ({ accessKeyId, secretAccessKey }: GateKeys) =>
    `[base]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n`;
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', await files.put('credentials', keys(keysOf('base1'))));
  const { hosts, origin } = await startAws(() => null);
  const fixture = await startAuthorized(
    { one: { origin, auth: aws('profile: prod') } },
    { settings: hosts.settings },
  );
  await sendRequest(fixture.upstream);
  await files.put('credentials', keys(keysOf('base2')));
  fixture.nowMs += HOUR_MS;
  await sendRequest(fixture.upstream);
  const signedBy = hosts.requests[STS]?.map(
    ({ headers }) => /Credential=(\w+)/.exec(headers.authorization ?? '')?.[1],
  );
  expect(signedBy).toEqual(['AKIABASE1', 'AKIABASE2']);

  const lost = await startAuthorized(
    { one: { origin, auth: aws('profile: lost') } },
    { settings: hosts.settings },
  );
  await refusal(lost.upstream);
  expect(lost.upstream.health.rests()[0]?.reason).toMatch(/lost.*: check auth\.profile, and the files/);
});

test("a container's token file is read for every exchange", async () => {
  const files = await folder();
  const tokens: unknown[] = [];
  const container = await startProvider((response, { headers }) => {
    tokens.push(headers.authorization);
    return json(response, {
      AccessKeyId: 'AKIAPOD',
      SecretAccessKey: 'secret-of-pod',
      Token: `session-${tokens.length}`,
      Expiration: new Date(Date.now() + HOUR_MS).toISOString(),
    });
  });
  vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${container.origin}/v1/credentials`);
  vi.stubEnv('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', await files.put('token', 'pod-token-1'));
  const provider = await startProvider(
    awsGate(
      {
        region: REGION,
        service: 'bedrock',
        keys: () => [
          { ...keysOf('pod'), secretAccessKey: 'secret-of-pod', sessionToken: `session-${tokens.length}` },
        ],
      },
      (response) => json(response, { ok: true }),
    ),
  );
  const fixture = await startAuthorized({ one: { origin: provider.origin, auth: aws('') } });
  await sendRequest(fixture.upstream);
  await files.put('token', 'pod-token-2');
  fixture.nowMs += HOUR_MS;
  await sendRequest(fixture.upstream);
  expect(tokens).toEqual(['pod-token-1', 'pod-token-2']);
});

test("an instance's metadata server that hangs costs one request the bound, and none while the old keys are valid", async () => {
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', undefined);
  let hangs = false;
  const metadata = await startProvider((response, { method, url }) => {
    if (hangs) return;
    if (method === 'PUT')
      return response.writeHead(200, { 'x-aws-ec2-metadata-token-ttl-seconds': '21600' }).end('imds-token');
    if (url.endsWith('/')) return response.writeHead(200).end('gateway-role');
    return json(response, {
      Code: 'Success',
      AccessKeyId: 'AKIAPOD',
      SecretAccessKey: 'secret-of-pod',
      Token: 'session',
      Expiration: new Date(Date.now() + HOUR_MS).toISOString(),
    });
  });
  vi.stubEnv('AWS_EC2_METADATA_SERVICE_ENDPOINT', metadata.origin);
  const keys = [{ ...keysOf('pod'), secretAccessKey: 'secret-of-pod', sessionToken: 'session' }];
  const provider = await startProvider(
    awsGate({ region: REGION, service: 'bedrock', keys: () => keys }, (response) =>
      json(response, { ok: true }),
    ),
  );
  const spare = await startProvider();
  const fixture = await startAuthorized(
    {
      one: { origin: provider.origin, auth: aws('') },
      two: { origin: spare.origin, provider: 'openai-compatible', speaks: '[responses]' },
    },
    { fetchMs: 2000 },
  );
  await sendRequest(fixture.upstream);
  hangs = true;
  fixture.nowMs += HOUR_MS - 120_000;
  await Promise.all([1, 2, 3].map(() => sendRequest(fixture.upstream)));
  expect(fixture.attempts.map(({ channel, outcome }) => [channel, outcome])).toEqual(
    Array(4).fill(['one', 'ok']),
  );
  await expect.poll(() => fixture.reports.at(-1)?.failure, { timeout: 5000 }).toMatch(/\S/);
  fixture.nowMs += HOUR_MS;
  await sendRequest(fixture.upstream);
  expect(fixture.attempts.slice(4).map(({ channel, outcome }) => [channel, outcome])).toEqual([
    ['one', 'no-credentials'],
    ['two', 'ok'],
  ]);
});

const GOOGLE_TOKENS = 'oauth2.googleapis.com';
const GOOGLE_IAM = 'iamcredentials.googleapis.com';
const VERTEX = 'aiplatform.googleapis.com';

/** Google's identity provider, which checks the signature of an assertion. */
async function startGoogle({ publicKey, grants = true }: { publicKey: string; grants?: boolean }) {
  const lines: string[] = [];
  const hosts = await startHosts({
    [GOOGLE_TOKENS]: (response, { body }) => {
      const [head = '', claims = '', signature = ''] = (
        new URLSearchParams(body).get('assertion') ?? ''
      ).split('.');
      const isSigned = verify(
        'sha256',
        Buffer.from(`${head}.${claims}`),
        createPublicKey(publicKey),
        Buffer.from(signature, 'base64url'),
      );
      const { iss, scope } = JSON.parse(Buffer.from(claims, 'base64url').toString());
      lines.push(`${iss} ${scope}`);
      return isSigned
        ? json(response, { access_token: `ya29.${iss}`, token_type: 'Bearer', expires_in: 3600 })
        : json(response, { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }, 400);
    },
    [GOOGLE_IAM]: (response, { url, headers, body }) => {
      lines.push(`${url} ${headers.authorization} ${JSON.parse(body).scope}`);
      return grants
        ? json(response, {
            accessToken: 'ya29.impersonated',
            expireTime: new Date(Date.now() + HOUR_MS).toISOString(),
          })
        : json(
            response,
            {
              error: {
                code: 403,
                message:
                  "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).",
                status: 'PERMISSION_DENIED',
              },
            },
            403,
          );
    },
    [VERTEX]: (response) => json(response, { ok: true }),
  });
  return { hosts, lines, origin: `https://${VERTEX}` };
}

const pairOf = () =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
const serviceAccount = (name: string, privateKey: string) =>
  JSON.stringify({
    type: 'service_account',
    project_id: 'p',
    private_key_id: name,
    private_key: privateKey,
    client_email: `${name}@p.iam.gserviceaccount.com`,
    client_id: '1',
    token_uri: `https://${GOOGLE_TOKENS}/token`,
  });
const CLOUD = 'https://www.googleapis.com/auth/cloud-platform';

test("a service account's file gives tokens by the channel's proxy, and one that rotates is read again", async () => {
  const { privateKey, publicKey } = pairOf();
  const files = await folder();
  const file = await files.put('key.json', serviceAccount('first', privateKey));
  const { hosts, lines, origin } = await startGoogle({ publicKey });
  const auth = `{ type: google, credentialsFile: "${file}" }`;
  const fixture = await startAuthorized({ one: { origin, auth } }, { settings: hosts.settings });
  await sendRequest(fixture.upstream);
  await files.put('key.json', serviceAccount('second', privateKey));
  fixture.nowMs += HOUR_MS;
  await sendRequest(fixture.upstream);
  expect(hosts.requests[VERTEX]?.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer ya29.first@p.iam.gserviceaccount.com',
    'Bearer ya29.second@p.iam.gserviceaccount.com',
  ]);
  expect(lines[0]).toBe(`first@p.iam.gserviceaccount.com ${CLOUD}`);
  await files.put('key.json', serviceAccount('third', pairOf().privateKey));
  fixture.nowMs += HOUR_MS;
  await refusal(fixture.upstream);
  expect(fixture.upstream.health.rests()[0]?.reason).toMatch(
    /Invalid JWT Signature.*: the key in auth\.credentialsFile was deleted/,
  );
});

test('a service account is impersonated, and a role that lacks for it is said to the operator', async () => {
  const { privateKey, publicKey } = pairOf();
  const file = await (await folder()).put('key.json', serviceAccount('first', privateKey));
  const auth = `{ type: google, credentialsFile: "${file}", impersonate: target@p.iam.gserviceaccount.com, scope: https://scope.example/one }`;
  const google = await startGoogle({ publicKey });
  const { upstream } = await startAuthorized(
    { one: { origin: google.origin, auth } },
    { settings: google.hosts.settings },
  );
  await sendRequest(upstream);
  expect(google.lines).toEqual([
    `first@p.iam.gserviceaccount.com ${CLOUD}`,
    '/v1/projects/-/serviceAccounts/target@p.iam.gserviceaccount.com:generateAccessToken Bearer ya29.first@p.iam.gserviceaccount.com https://scope.example/one',
  ]);
  expect(google.hosts.requests[VERTEX]?.[0]?.headers.authorization).toBe('Bearer ya29.impersonated');

  const refusing = await startGoogle({ publicKey, grants: false });
  const refused = await startAuthorized(
    { one: { origin: refusing.origin, auth } },
    { settings: refusing.hosts.settings },
  );
  await refusal(refused.upstream);
  expect(refused.upstream.health.rests()[0]?.reason).toMatch(
    /getAccessToken.*: give the identity the role roles\/iam\.serviceAccountTokenCreator/,
  );
});

test('tokens that end in the middle of load over Vertex AI cost no request its answer', async () => {
  const USES = 15;
  const life = { token: 0, uses: 0 };
  const hosts = await startHosts({
    [GOOGLE_TOKENS]: (response) => {
      life.token += 1;
      life.uses = 0;
      return json(response, { access_token: `ya29.${life.token}`, token_type: 'Bearer', expires_in: 3600 });
    },
    [VERTEX]: (response, { headers }) => {
      life.uses += 1;
      return headers.authorization === `Bearer ya29.${life.token}` && life.uses <= USES
        ? json(response, { ok: true })
        : json(
            response,
            {
              error: {
                code: 401,
                message: 'Request had invalid authentication credentials. Expected OAuth 2 access token.',
                status: 'UNAUTHENTICATED',
              },
            },
            401,
          );
    },
  });
  const file = await (await folder()).put('key.json', serviceAccount('first', pairOf().privateKey));
  const auth = `{ type: google, credentialsFile: "${file}" }`;
  const channel = { origin: `https://${VERTEX}`, provider: 'vertex', speaks: '[responses]', auth };
  const fixture = await startAuthorized(
    { one: channel },
    { settings: `project: p, location: global, ${hosts.settings}` },
  );
  for (let wave = 0; wave < 8; wave += 1) {
    await Promise.all(Array.from({ length: 6 }, () => sendRequest(fixture.upstream)));
    fixture.nowMs += 60_000;
  }
  expect(fixture.attempts.map(({ outcome }) => outcome)).toEqual(Array(48).fill('ok'));
  expect(life.token).toBeGreaterThan(2);
  expect(hosts.requests[GOOGLE_TOKENS]).toHaveLength(life.token);
});

const ENTRA = 'login.microsoftonline.com';
const AZURE = 'ours.services.ai.azure.com';

/** Entra ID, which knows one certificate of the application. */
async function startEntra(known: () => string) {
  const forms: URLSearchParams[] = [];
  const state = { hangs: false };
  const hosts = await startHosts({
    [ENTRA]: (response, { method, url, body }) => {
      if (state.hangs) return undefined;
      if (method === 'GET')
        return json(response, {
          token_endpoint: `https://${ENTRA}/tenant-1/oauth2/v2.0/token`,
          issuer: `https://${ENTRA}/tenant-1/v2.0`,
          authorization_endpoint: `https://${ENTRA}/tenant-1/oauth2/v2.0/authorize`,
          jwks_uri: `https://${ENTRA}/tenant-1/keys`,
          ...(url.includes('discovery/instance') && { 'api-version': '1.1', metadata: [] }),
        });
      const form = new URLSearchParams(body);
      forms.push(form);
      const [head = '', claims = '', signature = ''] = (form.get('client_assertion') ?? '').split('.');
      const certificate = new X509Certificate(known());
      const { 'x5t#S256': thumbprint, alg } = JSON.parse(Buffer.from(head, 'base64url').toString());
      const expected = Buffer.from(certificate.fingerprint256.replaceAll(':', ''), 'hex').toString(
        'base64url',
      );
      const key =
        alg === 'PS256' ? { key: certificate.publicKey, padding: 6, saltLength: 32 } : certificate.publicKey;
      const isKnown =
        thumbprint === expected &&
        verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url'));
      return isKnown
        ? json(response, { token_type: 'Bearer', expires_in: 3599, access_token: `token-${forms.length}` })
        : json(
            response,
            {
              error: 'invalid_client',
              error_description:
                'AADSTS700027: The certificate with identifier used to sign the client assertion is not registered on application.',
            },
            401,
          );
    },
    [AZURE]: (response) => json(response, { ok: true }),
  });
  return { hosts, forms, state, origin: `https://${AZURE}` };
}

/** A certificate and its key, as one PEM. */
async function rsaCertificate(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'certificate-'));
  onTestFinished(() => rm(path, { recursive: true }));
  const files = ['-keyout', join(path, 'key'), '-out', join(path, 'cert')];
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=app', ...files];
  execFileSync('openssl', made, { stdio: 'ignore' });
  return (await readFile(join(path, 'key'), 'utf8')) + (await readFile(join(path, 'cert'), 'utf8'));
}

test('a certificate of Entra ID signs its assertions, is read anew after a rotation, and is named where it is not registered', async () => {
  const files = await folder();
  const [first, second] = [rsaCertificate(), rsaCertificate()];
  const file = await files.put('app.pem', await first);
  let known = await first;
  const { hosts, forms, origin } = await startEntra(() => known);
  const auth = `{ type: entra, tenantId: tenant-1, clientId: client-1, certificateFile: "${file}", scope: "https://ai.azure.com/.default" }`;
  const fixture = await startAuthorized(
    { one: { origin, auth, provider: 'openai-compatible', speaks: '[responses]' } },
    { settings: hosts.settings },
  );
  await sendRequest(fixture.upstream);
  known = await second;
  await files.put('app.pem', known);
  fixture.nowMs += HOUR_MS;
  await sendRequest(fixture.upstream);
  expect(hosts.requests[AZURE]?.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer token-1',
    'Bearer token-2',
  ]);
  expect(Object.fromEntries(forms[0] ?? [])).toMatchObject({
    client_id: 'client-1',
    scope: expect.stringContaining('https://ai.azure.com/.default'),
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  });
  known = await first;
  fixture.nowMs += HOUR_MS;
  await refusal(fixture.upstream);
  expect(fixture.upstream.health.rests()[0]?.reason).toMatch(
    /AADSTS700027.*: upload the certificate of auth\.certificateFile/,
  );
});

test('what an identity provider never answers is ended, and leaves no connection', async () => {
  const file = await (await folder()).put('app.pem', await rsaCertificate());
  const pem = await readFile(file, 'utf8');
  const { hosts, state, origin } = await startEntra(() => pem);
  state.hangs = true;
  const auth = `{ type: entra, tenantId: tenant-1, clientId: client-1, certificateFile: "${file}", scope: "https://ai.azure.com/.default" }`;
  const { upstream } = await startAuthorized(
    { one: { origin, auth, provider: 'openai-compatible', speaks: '[responses]' } },
    { settings: hosts.settings, fetchMs: 300 },
  );
  expect((await refusal(upstream)).code).toBe('no_available_channel');
  expect(upstream.health.rests()[0]?.reason).toMatch(
    /no answer within 300 ms: check that this machine reaches/,
  );
  await expect.poll(hosts.open).toBe(0);
});
