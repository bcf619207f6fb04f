import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { makeAuthority } from '@gateway/testkit/make-authority';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { json, type ReceivedRequest, startProvider } from '../../provider-for-tests.ts';
import { refusal, sendRequest } from '../../sending/send-for-tests.ts';
import { startAuthorized } from '../upstream-for-tests.ts';

afterEach(() => vi.unstubAllEnvs());

async function file(name: string, content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tokens-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

const bearers = (requests: readonly ReceivedRequest[]) =>
  requests.map(({ headers }) => headers.authorization);

/** Entra ID: a token for each scope, and an audience that the provider checks. */
async function startEntra() {
  const authority = await makeAuthority(['127.0.0.1']);
  const forms: URLSearchParams[] = [];
  const server = createServer(authority, async (request, response) => {
    if (request.method === 'GET')
      return json(response, {
        token_endpoint: `${origin()}/tenant-1/oauth2/v2.0/token`,
        issuer: `${origin()}/tenant-1/v2.0`,
        authorization_endpoint: `${origin()}/tenant-1/oauth2/v2.0/authorize`,
        jwks_uri: `${origin()}/tenant-1/keys`,
      });
    const form = new URLSearchParams(await text(request));
    forms.push(form);
    const proof = form.get('client_secret') ?? form.get('client_assertion');
    if (proof === 'wrong')
      return json(
        response,
        { error: 'invalid_client', error_description: 'AADSTS7000215: Invalid client secret provided.' },
        401,
      );
    return json(response, {
      token_type: 'Bearer',
      expires_in: 3599,
      access_token: `for ${form.get('scope')}`.replaceAll(' ', '_'),
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await authority[Symbol.asyncDispose]();
  });
  const origin = () => {
    const address = server.address();
    return `https://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  };
  return {
    forms,
    authority,
    members: `type: entra, tenantId: tenant-1, clientId: client-1, authorityHost: "${origin()}"`,
  };
}

test('a client secret of Entra ID gives a token for the scope of the preset, by the authorities that the channel trusts', async () => {
  const { authority, members, forms } = await startEntra();
  const provider = await startProvider();
  const { upstream } = await startAuthorized(
    {
      one: {
        provider: 'azure-openai',
        origin: provider.origin,
        auth: `{ ${members}, clientSecret: right-secret }`,
      },
    },
    { settings: `caFile: "${authority.file}"` },
  );
  await sendRequest(upstream);
  expect(bearers(provider.requests)).toEqual(['Bearer for_https://cognitiveservices.azure.com/.default']);
  expect(provider.requests[0]?.headers['api-key']).toBeUndefined();
  expect(Object.fromEntries(forms[0] ?? [])).toMatchObject({
    client_id: 'client-1',
    client_secret: 'right-secret',
  });
});

test("a refused secret leaves the account unready with Entra's reason", async () => {
  const { authority, members } = await startEntra();
  const provider = await startProvider();
  const { upstream } = await startAuthorized(
    {
      one: { provider: 'azure-openai', origin: provider.origin, auth: `{ ${members}, clientSecret: wrong }` },
    },
    { settings: `caFile: "${authority.file}"` },
  );
  expect((await refusal(upstream)).code).toBe('no_available_channel');
  expect(upstream.health.rests()[0]?.reason).toMatch(/AADSTS7000215: Invalid client secret provided/);
});

test('the token of another identity provider is read again for every exchange', async () => {
  const { authority, members, forms } = await startEntra();
  const federated = await file('token', 'first.jwt\n');
  const provider = await startProvider();
  const fixture = await startAuthorized(
    {
      one: {
        provider: 'azure-openai',
        origin: provider.origin,
        auth: `{ ${members}, federatedTokenFile: "${federated}" }`,
      },
    },
    { settings: `caFile: "${authority.file}"` },
  );
  await sendRequest(fixture.upstream);
  await writeFile(federated, 'second.jwt\n');
  fixture.nowMs += 3_600_000;
  await sendRequest(fixture.upstream);
  expect(forms.map((form) => form.get('client_assertion'))).toEqual(['first.jwt', 'second.jwt']);
});

test('a managed identity gives a token for its resource, and a role that is missing is said to the operator', async () => {
  const identity = await startProvider((response, { url, headers }) => {
    const query = new URLSearchParams(url.split('?')[1]);
    if (headers['x-identity-header'] !== 'header-1') return json(response, {}, 401);
    const expires = Math.floor(Date.now() / 1000) + 86_400;
    return json(response, {
      access_token: `for_${query.get('resource')}_by_${query.get('client_id')}`,
      expires_on: String(expires),
      resource: query.get('resource'),
      token_type: 'Bearer',
      client_id: query.get('client_id'),
    });
  });
  vi.stubEnv('IDENTITY_ENDPOINT', `${identity.origin}/token`);
  vi.stubEnv('IDENTITY_HEADER', 'header-1');
  const provider = await startProvider((response) =>
    json(
      response,
      {
        error: {
          code: 'PermissionDenied',
          message: 'The principal `p` lacks the required data action `Microsoft.CognitiveServices/x/action`.',
        },
      },
      403,
    ),
  );
  const auth =
    '{ type: entra, managedIdentity: true, clientId: user-1, scope: "https://ai.azure.com/.default" }';
  const { upstream, attempts } = await startAuthorized({
    one: { provider: 'azure-openai', origin: provider.origin, auth },
  });
  expect((await refusal(upstream)).code).toBe('upstream_misconfigured');
  expect(bearers(provider.requests)).toEqual(['Bearer for_https://ai.azure.com_by_user-1']);
  expect(attempts[0]?.detail).toMatch(
    /lacks the required data action.*Cognitive Services OpenAI User.*scope https:\/\/ai\.azure\.com\/\.default\)$/,
  );
  expect(upstream.health.rests()[0]?.cause).toBe('no-credentials');
});

test("a workload identity of Google is exchanged at its file's address", async () => {
  const subject = await file('subject', 'subject-token');
  const exchange = await startProvider((response, { body }) =>
    json(response, {
      access_token: `ya29.of-${new URLSearchParams(body).get('subject_token')}`,
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: 3600,
    }),
  );
  const credentials = await file(
    'credentials.json',
    JSON.stringify({
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${exchange.origin}/v1/token`,
      credential_source: { file: subject },
    }),
  );
  const provider = await startProvider();
  const auth = `{ type: google, credentialsFile: "${credentials}", quotaProject: billing }`;
  const { upstream } = await startAuthorized({ one: { origin: provider.origin, auth } });
  await sendRequest(upstream);
  expect(bearers(provider.requests)).toEqual(['Bearer ya29.of-subject-token']);
  expect(provider.requests[0]?.headers['x-goog-user-project']).toBe('billing');
});

test("a metadata server of Google's that hangs holds nobody up beyond the bound", async () => {
  const metadata = await startProvider(() => undefined);
  vi.stubEnv('GCE_METADATA_HOST', new URL(metadata.origin).host);
  vi.stubEnv('HOME', '/nowhere');
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', undefined);
  const provider = await startProvider();
  const { upstream, attempts } = await startAuthorized(
    { one: { origin: provider.origin, auth: '{ type: google }' } },
    { fetchMs: 100 },
  );
  expect((await refusal(upstream)).code).toBe('no_available_channel');
  expect(attempts).toMatchObject([
    {
      outcome: 'no-credentials',
      detail: expect.stringMatching(
        /^no credentials \(no answer within 100 ms: check that this machine reaches/,
      ),
    },
  ]);
});
