import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { connectSocket } from '@gateway/testkit/connect-socket';
import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createPasses } from '../packages/metering/src/keys/pass.ts';
import { createKey, type MadeKey, revokeKey } from './support/admin-keys.ts';
import { readUsage } from './support/admin-usage.ts';
import { ONE_PROVIDER } from './support/configuration.ts';
import { logLine } from './support/log-lines.ts';
import { wavFile } from './support/media-files.ts';
import { type Gateway, type GatewayRequest, startGateway } from './support/start-gateway.ts';

/** What a person sends from the console's playground: requests of a key whose secret the admin service does not know. */

const GATEWAY_SECRET = 'a secret of this story, longer than thirty-two characters';

let gateway: Gateway;
let key: MadeKey;
beforeAll(async () => {
  gateway = await startGateway({
    mode: 'each',
    env: { GATEWAY_SECRET },
    configuration: (origin) =>
      `${ONE_PROVIDER(origin)}  gpt-realtime: { kind: realtime, routes: [{ channel: provider }] }\n`,
  });
});
afterAll(() => gateway?.close());
beforeEach(async () => {
  gateway.simulator.reset();
  key = await createKey(gateway.stack, { name: 'ann plays' });
});

const TEXT = { model: 'gpt-5.2', input: 'hello', store: false };
const never = new Promise<void>(() => undefined);

interface Relayed extends GatewayRequest {
  /** The id of the key. */
  readonly under?: string | null;
}

/** As the page sends it, but by the admin token unless there is a cookie. */
function relayed(path: string, { under = key.id, json, headers, ...init }: Relayed = {}): Promise<Response> {
  const { adminUrl, adminToken } = gateway.stack;
  const hasBody = json !== undefined || init.body != null;
  return fetch(`${adminUrl}/admin/v1/playground${path}`, {
    ...(hasBody && { method: 'POST' }),
    ...init,
    ...(json !== undefined && { body: JSON.stringify(json) }),
    headers: {
      ...(headers?.cookie === undefined && { authorization: `Bearer ${adminToken}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...(under !== null && { 'x-playground-key': under }),
      ...headers,
    },
  });
}

/** Opens a realtime session as the page does. */
const relayedSession = (query: string, headers: Record<string, string>) =>
  connectSocket(`${gateway.stack.adminUrl}/admin/v1/playground/v1/realtime?${query}`, headers);

test('a realtime session is opened with the key, and only by who may use it', async () => {
  const authorization = `Bearer ${gateway.stack.adminToken}`;
  const socket = await relayedSession(`model=gpt-realtime&key=${key.id}`, { authorization });
  await waitFor(() => socket.events.find(({ type }) => type === 'session.created'));
  socket.send({ type: 'response.create' });
  await waitFor(() => socket.events.find(({ type }) => type === 'response.done'));
  await waitFor(async () => (await readUsage(gateway.stack, key.id)).length > 0);
  expect(await readUsage(gateway.stack, key.id)).toMatchObject([{ model: 'gpt-realtime', requests: 1 }]);
  socket.webSocket.close();
  await gateway.simulator.realtime.sessions[0]?.closed;
  const REFUSED: readonly [string, Record<string, string>, number][] = [
    [`model=gpt-realtime&key=${key.id}`, {}, 401],
    [`model=gpt-realtime&key=${key.id}`, { authorization: 'Bearer wrong' }, 401],
    ['model=gpt-realtime&key=key_none', { authorization }, 404],
    [`key=${key.id}`, { authorization }, 400],
  ];
  for (const [query, headers, status] of REFUSED)
    await expect(relayedSession(query, headers), query).rejects.toMatchObject({ status });
});

const codeOf = async (reply: Response): Promise<unknown> => JSON.parse(await reply.text()).error.code;

/** The events of a stream without what two requests cannot have in common. */
const eventsOf = async (reply: Response): Promise<string[]> =>
  (await reply.text()).split('\n').filter((line) => line.startsWith('event:'));

test('a stream arrives as the edge sends it, and counts on the key', async () => {
  const direct = await gateway.fetch('/v1/responses', { json: { ...TEXT, stream: true } });
  const expected = await eventsOf(direct);
  const reply = await relayed('/v1/responses', { json: { ...TEXT, stream: true } });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('content-type')).toBe(direct.headers.get('content-type'));
  expect(await eventsOf(reply)).toEqual(expected);
  const used = () => readUsage(gateway.stack, key.id);
  await waitFor(async () => (await used()).length > 0);
  expect(await used()).toMatchObject([{ model: 'gpt-5.2', requests: 1 }]);
  const requestId = reply.headers.get('x-request-id') ?? '';
  const line = await logLine(gateway, 'admin', requestId);
  expect(line).toMatchObject({ keyId: key.id, relayedTo: '/v1/responses', by: 'admin' });
  expect(await logLine(gateway, 'edge', requestId)).toMatchObject({ keyId: key.id });
  const metrics = await (await fetch(`${gateway.stack.adminUrl}/metrics`)).text();
  expect(metrics).toMatch(/gateway_requests_total\{[^}]*endpoint="\/admin\/v1\/playground"[^}]*\} [1-9]/);
});

test('sound arrives byte by byte as the edge sends it', async () => {
  const json = { model: 'tts-1', voice: 'alloy', input: 'hello there' };
  const direct = Buffer.from(await (await gateway.fetch('/v1/audio/speech', { json })).arrayBuffer());
  const sound = Buffer.from(await (await relayed('/v1/audio/speech', { json })).arrayBuffer());
  expect(direct.length).toBeGreaterThan(100);
  expect(sound.equals(direct)).toBe(true);
});

test('errors of either protocol, sound and lists pass as they come', async () => {
  const refused = await relayed('/v1/responses', { json: { ...TEXT, model: 'none' } });
  expect([refused.status, await codeOf(refused)]).toEqual([404, 'model_not_found']);
  const anthropic = await relayed('/v1/messages', { json: {} });
  expect(JSON.parse(await anthropic.text())).toMatchObject({ type: 'error' });
  const sound = await relayed('/v1/audio/speech', { json: { model: 'tts-1', voice: 'alloy', input: 'hi' } });
  expect(sound.headers.get('content-type')).toBe('audio/mpeg');
  expect((await sound.arrayBuffer()).byteLength).toBeGreaterThan(100);
  const models = await relayed('/v1/models');
  expect(JSON.parse(await models.text())).toMatchObject({ object: 'list' });
});

test('an upload of 20 MB reaches the provider whole', async () => {
  const form = new FormData();
  form.set('model', 'whisper-1');
  const sound = new Uint8Array(await wavFile(1).arrayBuffer());
  form.set('file', new File([sound, randomBytes(20 * 1024 * 1024)], 'a.wav', { type: 'audio/wav' }));
  const reply = await relayed('/v1/audio/transcriptions', { body: form });
  expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining('text')]);
  expect(gateway.simulator.requests.at(-1)?.body.length).toBeGreaterThan(20 * 1024 * 1024);
});

test('an upload that is too large is refused while it is under way, for nothing holds it until its end', async () => {
  const { adminUrl, adminToken } = gateway.stack;
  const { port } = new URL(adminUrl ?? '');
  const socket = connect(Number(port), '127.0.0.1');
  const head = [
    'POST /admin/v1/playground/v1/audio/transcriptions HTTP/1.1',
    'host: admin',
    `authorization: Bearer ${adminToken}`,
    `x-playground-key: ${key.id}`,
    'content-type: multipart/form-data; boundary=line',
    'content-length: 10000000000',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n--line\r\n`);
  const [reply] = await once(socket, 'data');
  expect(String(reply)).toMatch(/^HTTP\/1\.1 413 /);
  socket.destroy();
});

test('a person who leaves in the middle of a stream cancels it at the provider', async () => {
  gateway.simulator.script({ stallAfter: 5, resume: never });
  const reply = await relayed('/v1/responses', { json: { ...TEXT, stream: true } });
  const reader = reply.body?.getReader();
  expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
  const received = await gateway.simulator.nextRequest();
  await reader?.cancel();
  expect(await received.closed).toBe('aborted');
});

test('the provider and the edge hear nothing of the person, and the page nothing of the pass', async () => {
  const headers = {
    referer: 'http://admin/console/',
    'x-forwarded-for': '10.9.8.7',
    'x-gateway-strict': 'true',
  };
  const reply = await relayed('/v1/responses', { json: TEXT, headers });
  expect(reply.status).toBe(200);
  const received = await gateway.simulator.nextRequest();
  expect(JSON.stringify(received.headers)).not.toMatch(/gwp_|10\.9\.8\.7|console/);
  expect(JSON.stringify([...reply.headers]) + (await reply.text())).not.toContain('gwp_');
  expect(gateway.lines.filter(({ text }) => text.includes('gwp_'))).toEqual([]);
});

test('an answer that a browser opens runs nothing', async () => {
  const { headers } = await relayed('/v1/models');
  expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('cache-control')).toBe('no-store');
});

test.for<[string, Relayed, number]>([
  ['no key is named', { under: null }, 404],
  ['the key does not exist', { under: 'key_unknown' }, 404],
  ['the API has no such path', { method: 'PUT' }, 404],
  ['nobody has signed in', { headers: { authorization: 'Bearer wrong-token-of-nobody' } }, 401],
])('it is refused where %s', async ([, request, status]) => {
  expect((await relayed('/v1/responses', { json: TEXT, ...request })).status).toBe(status);
  expect(gateway.simulator.requests).toEqual([]);
});

test.for(['revoked', 'disabled'])('a %s key is refused as the edge refuses it', async (state) => {
  if (state === 'revoked') await revokeKey(gateway.stack, key.id);
  const { adminUrl, adminToken } = gateway.stack;
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
  if (state === 'disabled')
    await fetch(`${adminUrl}/admin/v1/keys/${key.id}`, {
      method: 'PATCH',
      headers,
      body: '{"disabled":true}',
    });
  const reply = await relayed('/v1/responses', { json: TEXT });
  expect([reply.status, await codeOf(reply)]).toEqual([401, 'invalid_api_key']);
});

test("a key's holder sends requests under the own key alone, and from the console's page alone", async () => {
  const other = await createKey(gateway.stack, { name: 'of somebody else' });
  const { adminUrl } = gateway.stack;
  const origin = { origin: adminUrl ?? '', 'sec-fetch-site': 'same-origin' };
  const signedIn = await fetch(`${adminUrl}/admin/v1/session`, {
    method: 'POST',
    headers: { ...origin, 'content-type': 'application/json' },
    body: JSON.stringify({ key: key.key }),
  });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const own = await relayed('/v1/responses', { json: TEXT, headers: { ...origin, cookie } });
  expect(own.status).toBe(200);
  const foreign = await relayed('/v1/responses', {
    json: TEXT,
    under: other.id,
    headers: { ...origin, cookie },
  });
  expect(foreign.status).toBe(404);
  const elsewhere = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', cookie };
  expect((await relayed('/v1/responses', { json: TEXT, headers: elsewhere })).status).toBe(403);
  expect(gateway.simulator.requests).toHaveLength(1);
});

const passOf = (nowMs: number, secret = GATEWAY_SECRET) =>
  createPasses({ gatewaySecret: secret, now: () => nowMs }).issue({ keyId: key.id, channel: null });

test('the edge takes a pass of this minute, and none that is old or of another secret', async () => {
  const status = async (bearer: string) =>
    (await gateway.fetch('/v1/responses', { json: TEXT, headers: { authorization: `Bearer ${bearer}` } }))
      .status;
  expect(await status(passOf(Date.now()))).toBe(200);
  expect(await status(passOf(Date.now() - 61_000))).toBe(401);
  expect(await status(passOf(Date.now(), 'another secret, also longer than thirty-two characters'))).toBe(
    401,
  );
});

test.for([
  ['that ends early', (pass: string) => pass.slice(0, -1)],
  ['with a byte that no key has', (pass: string) => `${pass.slice(0, -1)}\xff`],
  ['twice', (pass: string) => `${pass}${pass}`],
  ['without its signature', (pass: string) => pass.split('.')[0] ?? ''],
] as const)('the edge takes no pass %s', async ([, changed]) => {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  const head = ['GET /v1/key HTTP/1.1', 'host: edge', `authorization: Bearer ${changed(passOf(Date.now()))}`];
  socket.write(Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'));
  const [reply] = await once(socket, 'data');
  expect(String(reply)).toMatch(/^HTTP\/1\.1 401 /);
  expect(String(reply)).not.toContain('gwp_');
  socket.destroy();
});

test('the services take no pass', async () => {
  const { url } = gateway.stack.process('text');
  const headers = { authorization: `Bearer ${passOf(Date.now())}`, 'content-type': 'application/json' };
  const reply = await fetch(`${url}/v1/responses`, { method: 'POST', headers, body: JSON.stringify(TEXT) });
  expect(reply.status).toBeGreaterThanOrEqual(400);
  expect(gateway.simulator.requests).toEqual([]);
});

test('an edge that dies in the middle of a stream breaks it off, and the log says whose fault it was', async () => {
  gateway.simulator.script({ stallAfter: 5, resume: never });
  const reply = await relayed('/v1/responses', { json: { ...TEXT, stream: true } });
  const reader = reply.body?.getReader();
  await reader?.read();
  gateway.stack.process('edge').kill('SIGKILL');
  const toTheEnd = async () => {
    while ((await reader?.read())?.done === false);
  };
  await expect(toTheEnd()).rejects.toThrow();
  const line = await logLine(gateway, 'admin', reply.headers.get('x-request-id') ?? '');
  expect(line).toMatchObject({ status: 200, outcome: 'failed', 'error.code': 'service_unavailable' });
});
