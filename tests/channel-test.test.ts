import { waitFor } from '@gateway/testkit/wait-for';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { askAdmin, createKey, type MadeKey } from './support/admin-keys.ts';
import { readUsage } from './support/admin-usage.ts';
import { type Gateway, startGateway } from './support/start-gateway.ts';

/** A person asks one channel, to know how it does: no other may answer in its place. */

const Tested = z.looseObject({
  isOk: z.boolean(),
  status: z.number().nullable(),
  error: z.string().nullable(),
  detail: z.string().nullable(),
  firstOutputMs: z.number().nullable(),
});

const Keys = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), revokedAt: z.string().nullable() })),
});

let gateway: Gateway;
let key: MadeKey;
beforeAll(async () => {
  // Of processes of their own, so that the channel reaches the text service in the signed identity.
  gateway = await startGateway({
    mode: 'each',
    configuration: (origin) => `
channels:
  one: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [chat] }
  two: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [messages] }
  pictures: { provider: simulator, baseUrl: "${origin}", apiKey: k, speaks: [images] }
  by-token: { provider: simulator, baseUrl: "${origin}", speaks: [chat], auth: { type: oauth, tokenUrl: "${origin}/no-token", clientId: gateway, clientSecret: s3cret-of-the-client } }
models:
  both: { kind: text, routes: [{ channel: one, priority: 1 }, { channel: two, priority: 2 }] }
  only-two: { kind: text, routes: [{ channel: two }] }
  tokens: { kind: text, routes: [{ channel: by-token }] }
  painter: { kind: image, routes: [{ channel: pictures }] }
`,
  });
});
afterAll(() => gateway?.close());
beforeEach(async () => {
  gateway.simulator.reset();
  key = await createKey(gateway.stack, { name: 'tests channels' });
});

const tested = async (channel: string, model?: string) => {
  const body = { keyId: key.id, ...(model !== undefined && { model }) };
  const reply = await askAdmin(gateway.stack, 'POST', `/admin/v1/channels/${channel}/test`, body);
  return Tested.parse(await reply.json());
};

test('a channel that would come second is asked, and the request counts on the key', async () => {
  const { isOk, status, error, firstOutputMs } = await tested('two', 'both');
  expect({ isOk, status, error }).toEqual({ isOk: true, status: 200, error: null });
  expect(firstOutputMs).toBeGreaterThan(0);
  expect(gateway.simulator.requests.map(({ path }) => path)).toEqual(['/v1/messages']);
  const used = () => readUsage(gateway.stack, key.id);
  await waitFor(async () => (await used()).length > 0);
  expect(await used()).toMatchObject([{ model: 'both', requests: 1 }]);
});

test('a channel that fails is told to fail, though another one could answer', async () => {
  gateway.simulator.script({ status: 401 });
  expect(await tested('one', 'both')).toMatchObject({
    ...{ isOk: false, error: expect.stringMatching(/./) },
    detail: expect.stringMatching(/^answered 401/),
  });
  expect(gateway.simulator.requests.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
});

const Channels = z.looseObject({
  data: z.array(
    z.looseObject({ name: z.string(), accounts: z.array(z.looseObject({ credentials: z.unknown() })) }),
  ),
});

test('why a channel has no credentials is told to operators, and to no caller', async () => {
  const why = expect.stringMatching(/127\.0\.0\.1:\d+ answered 404 without a token/);
  const { error, detail } = await tested('by-token');
  expect(error).not.toMatch(/token|127/);
  expect(detail).toEqual(why);
  const listed = Channels.parse(await (await askAdmin(gateway.stack, 'GET', '/admin/v1/channels')).json());
  expect(listed.data.find(({ name }) => name === 'by-token')?.accounts[0]?.credentials).toEqual({
    source: expect.stringMatching(/^a token of 127/),
    expiresAt: null,
    failure: why,
    at: expect.any(String),
  });
  const reply = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'tokens', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  expect(reply.status).toBe(503);
  expect(reply.headers.get('x-gateway-attempt-detail')).toBeNull();
  expect(await reply.text()).not.toMatch(/without a token/);
});

test('a test without a key is charged to the only one, and where there are several says how to name it', async () => {
  const listed = await askAdmin(gateway.stack, 'GET', '/admin/v1/keys?limit=200');
  const { data } = Keys.parse(await listed.json());
  for (const { id } of data.filter((one) => one.id !== key.id && one.revokedAt === null))
    await askAdmin(gateway.stack, 'DELETE', `/admin/v1/keys/${id}`);
  const test = () => askAdmin(gateway.stack, 'POST', '/admin/v1/channels/two/test', {});
  expect(Tested.parse(await (await test()).json())).toMatchObject({ isOk: true });
  await createKey(gateway.stack, { name: 'another' });
  await expect(test()).rejects.toThrow(/--key ID/);
});

test('a channel that rests is asked all the same', async () => {
  await askAdmin(gateway.stack, 'POST', '/admin/v1/channels/two/rest', {});
  expect(await tested('two')).toMatchObject({ isOk: true });
  await askAdmin(gateway.stack, 'POST', '/admin/v1/channels/two/wake', {});
});

test.for<[string, string | undefined, RegExp]>([
  ['pictures', undefined, /no text model/],
  ['nowhere', undefined, /There is no channel 'nowhere'/],
])('the channel %s is not tested, and the error says why', async ([channel, model, reason]) => {
  await expect(tested(channel, model)).rejects.toThrow(reason);
});

test('a model that has no route to the channel is told', async () => {
  expect(await tested('one', 'only-two')).toMatchObject({
    isOk: false,
    error: "The model 'only-two' has no route to the channel 'one'.",
  });
});
