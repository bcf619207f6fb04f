import { freePort } from '@gateway/testkit/free-port';
import { createAttemptCounts } from '@gateway/upstream/health/attempt-counts';
import { createRestStore } from '@gateway/upstream/health/rests/rest-store';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AuditPage, ChannelPage, RestedChannelReply } from '../api/schemas/operations.ts';
import { runCommand } from '../cli/run-command.ts';
import { TOKEN } from '../testing/run-admin.ts';
import { useAdmin } from '../testing/use-admin.ts';

const CONFIGURATION = `
channels:
  one: { provider: openai, apiKey: "\${SOME_PROVIDER_KEY}" }
  two: { provider: openai, apiKey: "\${SOME_PROVIDER_KEY}" }
  keys: { provider: openai, apiKeys: { a: "\${SOME_PROVIDER_KEY}", b: "\${SOME_PROVIDER_KEY}" } }
models:
  gpt-5: { kind: text, routes: [{ channel: one, model: gpt-5-2026 }, { channel: two }] }
  lonely: { kind: text, routes: [{ channel: two }] }
`;

/** Where no edge is. */
const edgeUrl = `http://127.0.0.1:${await freePort()}`;
const admin = useAdmin({ configuration: CONFIGURATION, env: { EDGE_URL: edgeUrl } });

const Made = z.looseObject({ id: z.string() });

const call = async (method: string, path: string, body?: unknown) => {
  const response = await fetch(`${admin.url}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      'x-gateway-actor': 'ada',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
};

const changed = async (path: string, body?: unknown) => {
  const reply = await call('POST', `/channels/${path}`, body);
  expect(reply.status).toBe(200);
  return RestedChannelReply.parse(reply.body);
};

const restsOf = async (name: string) => {
  const { data } = ChannelPage.parse((await call('GET', '/channels')).body);
  return data.find((channel) => channel.name === name)?.rests;
};

const audit = async () => AuditPage.parse((await call('GET', '/audit')).body).data;

const gateway = async (...argv: string[]) => {
  let out = '';
  const print = (text: string) => {
    out += `${text}\n`;
  };
  const env = { ADMIN_URL: admin.url, GATEWAY_ADMIN_TOKEN: TOKEN };
  const line = { argv, env, fetch, now: Date.now, userName: 'ada', print, printError: print };
  return { code: await runCommand({ ...line, write: async (text) => print(text) }), out };
};

/** As a service that found it out stores it. */
const gatewayRests = async (cause: 'failing' | 'credentials' = 'failing') => {
  const store = createRestStore(admin.redis);
  const nowMs = await store.time();
  const rest = {
    ...{ channel: 'one', account: 'default', model: 'gpt-5-2026', by: null, settings: null },
    ...{ requested: false, level: 1, failures: 5, reason: 'it fails to answer' },
    sinceMs: nowMs - 1000,
  };
  const put = [
    { ...rest, id: '1', cause, untilMs: cause === 'failing' ? nowMs + 60_000 : null },
    { ...rest, id: '2', cause: 'overloaded' as const, model: 'other', untilMs: nowMs - 1 },
  ];
  await store.write({ put, remove: [] });
};

test('a channel shows how attempts of the last hour and day ended, also those of other processes', async () => {
  let nowMs = Date.now() - 3 * 3_600_000;
  const counts = createAttemptCounts({ redis: admin.redis, now: () => nowMs });
  counts.add({ channel: 'one', outcome: 'ok' });
  counts.add({ channel: 'one', outcome: 'timeout' });
  nowMs = Date.now();
  counts.add({ channel: 'one', outcome: 'rate-limited' });
  await counts.close();
  const { data } = ChannelPage.parse((await call('GET', '/channels')).body);
  expect(Object.fromEntries(data.map(({ name, attempts }) => [name, attempts]))).toEqual({
    one: { lastHour: { 'rate-limited': 1 }, lastDay: { ok: 1, timeout: 1, 'rate-limited': 1 } },
    two: { lastHour: {}, lastDay: {} },
    keys: { lastHour: {}, lastDay: {} },
  });
});

test('what the gateway put to rest is shown with the reason and the time left', async () => {
  expect(await restsOf('one')).toEqual([]);
  await gatewayRests();
  const [resting, unproven] = (await restsOf('one')) ?? [];
  expect(resting).toMatchObject({
    ...{ scope: 'model', account: 'default', model: 'gpt-5-2026', state: 'resting', by: null },
    ...{ cause: 'failing', reason: 'it fails to answer', failures: 5, restsBefore: 1 },
  });
  expect(resting?.secondsLeft).toBeGreaterThan(0);
  expect(resting?.secondsLeft).toBeLessThanOrEqual(60);
  expect(unproven).toMatchObject({ model: 'other', state: 'unproven', secondsLeft: 0 });
  expect(await restsOf('two')).toEqual([]);
});

test('a person puts a channel to rest until it is woken, and both are in the audit log', async () => {
  const rested = await changed('one/rest', { reason: 'they are moving their data centre' });
  expect(rested.rests).toMatchObject([
    {
      scope: 'channel',
      by: 'ada',
      reason: 'they are moving their data centre',
      until: null,
      secondsLeft: null,
    },
  ]);
  expect(rested.warnings).toEqual([]);
  expect(await restsOf('one')).toEqual(rested.rests);
  expect((await changed('one/wake')).rests).toEqual([]);
  expect(await audit()).toMatchObject([
    { action: 'channel.woken', who: 'ada', subject: 'one', before: { rests: rested.rests } },
    { action: 'channel.rested', who: 'ada', subject: 'one', after: { until: null, model: null } },
  ]);
});

test('a model is put to rest for a time, by the name that callers use', async () => {
  const { rests } = await changed('one/rest', { model: 'gpt-5', seconds: 90 });
  expect(rests).toMatchObject([{ scope: 'model', account: null, model: 'gpt-5-2026' }]);
  expect(rests[0]?.secondsLeft).toBeGreaterThan(80);
});

test('a rest names the models that have no other channel', async () => {
  expect((await changed('two/rest')).warnings).toEqual([
    "'lonely' has no other channel: requests for it still go to this one.",
  ]);
  expect((await changed('two/rest', { model: 'gpt-5' })).warnings).toEqual([]);
});

test('one of several accounts of a channel is put to rest by its name', async () => {
  expect((await changed('keys/rest', { account: 'b' })).rests).toMatchObject([
    { scope: 'account', account: 'b' },
  ]);
});

test('waking a channel ends all its rests, waking a model only its own', async () => {
  await gatewayRests();
  await changed('one/rest', { account: 'default' });
  await changed('one/rest');
  expect((await changed('one/wake', { model: 'gpt-5' })).rests).toHaveLength(3);
  expect((await changed('one/wake', { account: 'default' })).rests).toMatchObject([{ scope: 'channel' }]);
  expect((await changed('one/wake')).rests).toEqual([]);
  const entries = (await audit()).length;
  expect((await changed('one/wake')).rests).toEqual([]);
  expect(await audit()).toHaveLength(entries);
});

test.for<[what: string, path: string, body: unknown, status: number, message: RegExp]>([
  ['an unknown channel', 'nobody/rest', {}, 404, /There is no channel 'nobody'/],
  ['an unknown account', 'one/rest', { account: 'second' }, 400, /no account 'second'\. It has: default/],
  ['an account of a channel with several', 'keys/rest', { account: 'default' }, 400, /It has: a, b/],
  ['a time that is no number', 'one/rest', { seconds: 'long' }, 400, /seconds/],
  ['a negative time', 'one/rest', { seconds: -1 }, 400, /seconds/],
  ['a reason with a line break', 'one/rest', { reason: 'a\nb' }, 400, /control character/],
  ['an unknown member', 'one/wake', { models: [] }, 400, /models/],
])('%s is refused', async ([, path, body, status, message]) => {
  const refused = await call('POST', `/channels/${path}`, body);
  expect(refused).toMatchObject({ status, body: { error: { message: expect.stringMatching(message) } } });
  expect(await restsOf('one')).toEqual([]);
});

test('the command line shows rests, begins and ends them', async () => {
  expect((await gateway('channels')).out).toMatch(/^NAME +PROVIDER.* RESTING\none .* no\n/);
  const rested = await gateway('channels', 'rest', 'two', '--seconds', '90', '--reason', 'too expensive');
  expect(rested).toMatchObject({ code: 0 });
  expect(rested.out).toMatch(
    /^Resting in two:\n {2}the whole channel: too expensive \(ada\), \d+ s left\nWarning: 'lonely'/,
  );
  await gateway('channels', 'rest', 'one', '--model', 'gpt-5');
  const { out } = await gateway('channels');
  expect(out).toMatch(/\none .* yes\n/);
  expect(out).toContain('Resting in one:\n  model gpt-5-2026: no reason given (ada), until woken');
  await gatewayRests('credentials');
  expect((await gateway('channels')).out).toContain('it fails to answer, until the channel gets another key');
  expect((await gateway('channels', 'wake', 'two')).out).toBe('Resting in two: nothing\n');
  expect((await gateway('channels', 'wake', 'nobody')).code).toBe(1);
  expect((await gateway('channels', 'sleep')).code).toBe(2);
});

test('the command line tests a channel, and says what is wrong', async () => {
  const key = Made.parse((await call('POST', '/keys', { name: 'tests channels' })).body);
  const { out } = await gateway('channels', 'test', 'two', '--key', key.id, '--model', 'lonely');
  expect(out).toMatch(
    /^Failed after \d+ ms\.\nThe edge cannot be reached.*\nModel lonely, request test-[-\w]+\n$/,
  );
  // It is the only key, until there is another one.
  expect((await gateway('channels', 'test', 'two', '--model', 'lonely')).out).toContain('The edge cannot');
  await call('POST', '/keys', { name: 'another' });
  expect((await gateway('channels', 'test', 'two', '--model', 'lonely')).code).toBe(1);
  expect((await gateway('channels', 'test', 'two', '--key', 'key_0000000000000000')).code).toBe(1);
});
