import type { KeyStore } from '@gateway/metering/keys/key-store';
import type { KeySettings } from '@gateway/metering/keys/settings';
import { emptyRedis, keysInRedis, teamsInRedis } from '@gateway/metering/testing/records-in-redis';
import { unrecordedUsage } from '@gateway/metering/usage/unrecorded-usage';
import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { GATEWAY_SECRET, type RunningEdge, runEdge } from '../testing/run-edge.ts';
import { answerOk, type StandInService, startStandInService } from '../testing/stand-in-service.ts';

let redisServer: TestRedis;
let redis: Redis;
let keys: KeyStore;
let service: StandInService;
let edges: readonly [RunningEdge, RunningEdge];
const by = { who: 'test', requestId: null };

beforeAll(async () => {
  redisServer = await startRedis();
  redis = createRedis(redisServer.url, 'request');
  await redis.connect();
  keys = keysInRedis({ redis, gatewaySecret: GATEWAY_SECRET });
  service = await startStandInService();
  const env = { REDIS_URL: redisServer.url, TEXT_URL: service.url, IMAGE_URL: service.url };
  edges = await Promise.all([runEdge(env), runEdge(env)]);
});
afterAll(async () => {
  await Promise.all(edges.map((edge) => edge.stop()));
  await service.close();
  await redis.quit();
  await redisServer.close();
});
beforeEach(() => emptyRedis(redis));
afterEach(() => service.reply(answerOk));

const makeKey = (settings: Omit<KeySettings, 'name'>) => keys.createKey({ name: 'limited', ...settings });

interface Call {
  readonly secret: string;
  /** Which of the two edges; even numbers go to one, odd ones to the other. */
  readonly turn?: number;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

const call = ({
  secret,
  turn = 0,
  path = '/v1/responses/input_tokens',
  method = 'POST',
  headers,
  signal,
}: Call) =>
  fetch((turn % 2 === 0 ? edges[0] : edges[1]).url + path, {
    method,
    headers: { authorization: `Bearer ${secret}`, ...headers },
    ...(method === 'POST' ? { body: '{}' } : {}),
    ...(signal === undefined ? {} : { signal }),
  });

const callMany = (count: number, options: Omit<Call, 'turn'>) =>
  Promise.all(Array.from({ length: count }, (_, turn) => call({ ...options, turn })));

const statuses = (replies: readonly Response[]) =>
  Object.fromEntries([...Map.groupBy(replies, ({ status }) => status)].map(([of, all]) => [of, all.length]));

/** Delays replies until the returned function is called. */
function holdReplies(): () => void {
  const held: (() => void)[] = [];
  service.reply((request, response) => {
    request.resume();
    held.push(() => response.writeHead(200).end('{}'));
  });
  return () => {
    service.reply(answerOk);
    for (const answer of held.splice(0)) answer();
  };
}

const slots = (owner: string) => redis.zcard(`gateway:{meter}:places:${owner}`);

async function refusedInUsage(keyId: string): Promise<number> {
  const range = { fromMs: Date.now() - 3_600_000, toMs: Date.now() + 3_600_000 };
  const rows = await unrecordedUsage(redis, { ...range, groupBy: ['endpoint'], only: { keyId } });
  return rows.reduce((sum, { sums }) => sum + sums.refused, 0);
}

/** Starts a stopwatch on Redis' clock, by which limits count; returns the seconds that have passed, rounded up. */
async function startWatch(): Promise<() => Promise<number>> {
  const microseconds = async () => {
    const [seconds, rest] = await redis.time();
    return Number(seconds) * 1e6 + Number(rest);
  };
  const begin = await microseconds();
  return async () => Math.ceil(((await microseconds()) - begin) / 1e6);
}

// Small ones: a limit of N lets another request in every 60/N seconds. On a machine that takes longer, so many more.
test.for([1, 4, 10])(
  'exactly %i of 15 more concurrent requests pass that limit on two edges',
  async (limit) => {
    const { secret, record } = await makeKey({ limits: { requestsPerMinute: limit } });
    const before = service.requests.length;
    const passedSeconds = await startWatch();
    const replies = await callMany(limit + 15, { secret });
    const more = Math.floor(((await passedSeconds()) * limit) / 60);
    const passed = service.requests.length - before;
    expect(statuses(replies)).toEqual({ 200: passed, 429: limit + 15 - passed });
    expect(passed).toBeGreaterThanOrEqual(limit);
    expect(passed).toBeLessThanOrEqual(limit + more);
    await waitFor(async () => (await refusedInUsage(record.id)) === limit + 15 - passed);
  },
);

/** `1m0s` in seconds. */
const secondsOf = (duration: string | null): number => {
  const [, minutes = 0, seconds] = /^(?:(\d+)m)?(\d+)s$/.exec(duration ?? '') ?? [];
  return Number(minutes) * 60 + Number(seconds);
};

test("a refused caller gets the limit and the real time to wait, in its protocol's form", async () => {
  const { secret } = await makeKey({ limits: { requestsPerMinute: 2 } });
  const passedSeconds = await startWatch();
  const first = await call({ secret });
  expect(Object.fromEntries(first.headers)).toMatchObject({
    'x-ratelimit-limit-requests': '2',
    'x-ratelimit-remaining-requests': '1',
    'x-ratelimit-reset-requests': '30s',
  });
  const second = await call({ secret, path: '/v1/messages/count_tokens' });
  expect(second.headers.get('anthropic-ratelimit-requests-remaining')).toBe('0');
  const openai = await call({ secret, turn: 1 });
  const waitSeconds = Number(openai.headers.get('retry-after-ms')) / 1000;
  expect(waitSeconds).toBeGreaterThanOrEqual(30 - (await passedSeconds()));
  expect(waitSeconds).toBeLessThanOrEqual(30);
  const resetSeconds = secondsOf(openai.headers.get('x-ratelimit-reset-requests'));
  expect(resetSeconds).toBeGreaterThanOrEqual(60 - (await passedSeconds()));
  expect(resetSeconds).toBeLessThanOrEqual(60);
  expect(Object.fromEntries(openai.headers)).toMatchObject({
    'retry-after': String(Math.ceil(waitSeconds)),
    'x-should-retry': 'true',
    'x-ratelimit-limit-requests': '2',
    'x-ratelimit-remaining-requests': '0',
  });
  expect(await openai.json()).toEqual({
    error: {
      type: 'requests',
      code: 'rate_limit_exceeded',
      param: null,
      message: `Rate limit of your key reached on requests per minute: Limit 2, Requested 1. Please try again in ${waitSeconds}s.`,
    },
  });
  const anthropic = await call({ secret, path: '/v1/messages/count_tokens' });
  expect(anthropic.status).toBe(429);
  expect(await anthropic.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
  expect(anthropic.headers.get('anthropic-ratelimit-requests-limit')).toBe('2');
  expect(anthropic.headers.get('anthropic-ratelimit-requests-remaining')).toBe('0');
  const resetMs = Date.parse(anthropic.headers.get('anthropic-ratelimit-requests-reset') ?? '');
  expect(resetMs - Date.now()).toBeGreaterThan((59 - (await passedSeconds())) * 1000);
  expect(anthropic.headers.has('x-ratelimit-limit-requests')).toBe(false);
});

test("a provider's own limits do not replace the caller's", async () => {
  service.reply((_request, response) =>
    response.writeHead(200, { 'X-RateLimit-Limit-Requests': '9999', 'x-other': 'kept' }).end('{}'),
  );
  const limited = await makeKey({ limits: { requestsPerMinute: 5 } });
  const reply = await call(limited);
  expect(reply.headers.get('x-ratelimit-limit-requests')).toBe('5');
  expect(reply.headers.get('x-other')).toBe('kept');
});

test('as many requests run at once as there are slots, and one that ends frees its slot for the other edge', async () => {
  const { secret, record } = await makeKey({ limits: { concurrentRequests: 3 } });
  const answerAll = holdReplies();
  const before = service.requests.length;
  const replies = Array.from({ length: 8 }, (_, turn) => call({ secret, turn }));
  const refusals = await Promise.race([
    Promise.all(replies),
    waitFor(() => (service.requests.length - before === 3 ? ([] as Response[]) : undefined)),
  ]);
  expect(refusals).toEqual([]);
  await waitFor(async () => (await refusedInUsage(record.id)) === 5);
  answerAll();
  const all = await Promise.all(replies);
  expect(statuses(all)).toEqual({ 200: 3, 429: 5 });
  const refused = all.find(({ status }) => status === 429);
  expect(refused?.headers.get('retry-after')).toBe('1');
  expect(await refused?.json()).toMatchObject({
    error: { message: expect.stringMatching(/concurrent requests: Limit 3\. Please try again in 1s\.$/) },
  });
  await waitFor(async () => (await slots(record.id)) === 0);
  expect(statuses(await callMany(2, { secret }))).toEqual({ 200: 2 });
});

test('a caller who leaves frees its slot at once', async () => {
  const { secret, record } = await makeKey({ limits: { concurrentRequests: 1 } });
  const answerAll = holdReplies();
  const before = service.requests.length;
  const leaving = new AbortController();
  const left = call({ secret, signal: leaving.signal }).catch(() => 'left');
  await waitFor(() => service.requests.length > before);
  expect((await call({ secret, turn: 1 })).status).toBe(429);
  leaving.abort();
  expect(await left).toBe('left');
  await waitFor(async () => (await slots(record.id)) === 0);
  answerAll();
  expect((await call({ secret, turn: 1 })).status).toBe(200);
});

test('requests that share a request id do not share a slot', async () => {
  const { secret, record } = await makeKey({ limits: { concurrentRequests: 2 } });
  const answerAll = holdReplies();
  const headers = { 'x-request-id': 'the-same-for-all' };
  const replies = Array.from({ length: 6 }, (_, turn) => call({ secret, turn, headers }));
  await waitFor(async () => (await refusedInUsage(record.id)) === 4);
  answerAll();
  expect(statuses(await Promise.all(replies))).toEqual({ 200: 2, 429: 4 });
});

test("a team's limit holds for all its keys together, in addition to their own", async () => {
  const teams = teamsInRedis(redis);
  await teams.createTeam({ name: 'platform', limits: { requestsPerMinute: 6 } }, by);
  const members = await Promise.all(
    [1, 2, 3].map(() => makeKey({ team: 'platform', limits: { requestsPerMinute: 4 } })),
  );
  const replies = await Promise.all(members.map(({ secret }) => callMany(4, { secret })));
  expect(statuses(replies.flat())).toEqual({ 200: 6, 429: 6 });
});

test("a team's new limits hold for keys in use, on both edges", async () => {
  const teams = teamsInRedis(redis);
  await teams.createTeam({ name: 'platform', limits: { requestsPerMinute: 1 } }, by);
  const { secret } = await makeKey({ team: 'platform' });
  const bothAre = async (status: number) => statuses(await callMany(2, { secret }))[status] === 2;
  await waitFor(() => bothAre(429));
  await teams.updateTeam('platform', ({ name }) => ({ name }), by);
  await waitFor(() => bothAre(200));
  await teams.updateTeam('platform', ({ name }) => ({ name, limits: { requestsPerMinute: 1 } }), by);
  await waitFor(() => bothAre(429));
  await teams.deleteTeam('platform', by);
  await waitFor(() => bothAre(200));
});

test('no request that begins a second after a revocation gets in, on either edge, with either secret', async () => {
  const { secret, record } = await makeKey({ limits: { requestsPerMinute: 100_000 } });
  const rotated = (await keys.rotateKey(record.id, 600, by))?.secret ?? '';
  const callAll = () => Promise.all([callMany(2, { secret }), callMany(2, { secret: rotated })]);
  expect(statuses((await callAll()).flat())).toEqual({ 200: 4 });
  await keys.revokeKey(record.id);
  const revokedAt = performance.now();
  let latest: Record<string, number> = {};
  for (let begunAt = 0; begunAt < revokedAt + 1000; ) {
    begunAt = performance.now();
    latest = statuses((await callAll()).flat());
  }
  expect(latest).toEqual({ 401: 4 });
});

test('reads count on no limit', async () => {
  const { secret } = await makeKey({ limits: { requestsPerMinute: 1, concurrentRequests: 1 } });
  expect((await call({ secret })).status).toBe(200);
  const polls = await callMany(5, { secret, method: 'GET', path: '/v1/responses/resp_1' });
  expect(statuses(polls)).toEqual({ 200: 5 });
  const cancel = await call({ secret, path: '/v1/responses/resp_1/cancel' });
  expect(cancel.status).toBe(200);
  expect((await call({ secret })).status).toBe(429);
});

test('a key without limits causes no call to Redis', async () => {
  const { secret } = await makeKey({});
  await callMany(2, { secret });
  const before = await redis.info('commandstats');
  await callMany(20, { secret });
  const evals = (text: string) => Number(/cmdstat_evalsha:calls=(\d+)/.exec(text)?.[1] ?? 0);
  // At most the refresh of the key itself, twice a second and edge.
  expect(evals(await redis.info('commandstats')) - evals(before)).toBeLessThan(10);
});

test('refused requests are counted by reason', async () => {
  const { secret, record } = await makeKey({ endpoints: ['images'] });
  expect((await call({ secret })).status).toBe(403);
  await waitFor(async () => (await refusedInUsage(record.id)) === 1);
  const slow = await makeKey({ limits: { requestsPerMinute: 1 } });
  expect((await call(slow)).status).toBe(200);
  expect((await call(slow)).status).toBe(429);
  const single = await makeKey({ limits: { concurrentRequests: 1 } });
  const answerAll = holdReplies();
  const before = service.requests.length;
  const first = call(single);
  await waitFor(() => service.requests.length > before);
  expect((await call(single)).status).toBe(429);
  answerAll();
  expect((await first).status).toBe(200);
  const metrics = await (await fetch(edges[0].metricsUrl)).text();
  expect(metrics).toMatch(/gateway_refused_total\{reason="endpoint",service="edge"\} [1-9]/);
  expect(metrics).toMatch(/gateway_refused_total\{reason="requests_per_minute",service="edge"\} [1-9]/);
  expect(metrics).toMatch(/gateway_refused_total\{reason="concurrent_requests",service="edge"\} [1-9]/);
});

test('a caller reads what is left of its own limits and budgets', async () => {
  await teamsInRedis(redis).createTeam({ name: 'platform', budget: { usd: 100, period: 'total' } }, by);
  const { secret, record } = await makeKey({
    team: 'platform',
    models: ['gpt-*'],
    limits: {
      ...{ requestsPerMinute: 5, tokensPerMinute: 1000, concurrentRequests: 2 },
      models: { 'gpt-*': { imagesPerMinute: 3 } },
    },
    budget: { usd: 12.5, period: 'day' },
  });
  await redis.hset('gateway:{meter}:account:team:platform:total', { spent: 25_000_000, reserved: 500_000 });
  await call({ secret });
  const reply = await call({ secret, method: 'GET', path: '/v1/key', turn: 1 });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('x-request-id')).toMatch(/^req_/);
  expect(await reply.json()).toEqual({
    object: 'key',
    id: record.id,
    name: 'limited',
    team: 'platform',
    models: ['gpt-*'],
    endpoints: null,
    limits: [
      { of: 'key', limit: 'requests_per_minute', model: null, value: 5, remaining: 4 },
      { of: 'key', limit: 'tokens_per_minute', model: null, value: 1000, remaining: 1000 },
      { of: 'key', limit: 'images_per_minute', model: 'gpt-*', value: 3, remaining: 3 },
      { of: 'key', limit: 'concurrent_requests', model: null, value: 2, remaining: expect.any(Number) },
    ],
    budgets: [
      {
        of: 'key',
        period: 'day',
        usd: 12.5,
        spent_usd: 0,
        reserved_usd: 0,
        remaining_usd: 12.5,
        resets_at: (Math.floor(Date.now() / 86_400_000) + 1) * 86_400,
      },
      {
        of: 'team',
        period: 'total',
        usd: 100,
        spent_usd: 25,
        reserved_usd: 0.5,
        remaining_usd: 74.5,
        resets_at: null,
      },
    ],
  });
  expect((await call({ secret: 'gwk_wrong', method: 'GET', path: '/v1/key' })).status).toBe(401);
  expect((await call({ secret, path: '/v1/key' })).status).toBe(405);
});

test('no key is in Redis or in a log in clear', async () => {
  const { secret, record } = await makeKey({ limits: { requestsPerMinute: 2, concurrentRequests: 1 } });
  const next = (await keys.rotateKey(record.id, 60, by))?.secret ?? '';
  await callMany(6, { secret });
  await callMany(6, { secret: next });
  await waitFor(async () => (await refusedInUsage(record.id)) > 0);
  const names = await redis.keys('*');
  expect(names.length).toBeGreaterThan(5);
  const dumps = await Promise.all(
    names.map(async (name) => `${name} ${(await redis.dumpBuffer(name))?.toString('latin1')}`),
  );
  const written = [...dumps, ...edges.flatMap(({ output }) => output)].join('\n');
  for (const hidden of [secret, next]) {
    expect(written).not.toContain(hidden.slice(4, 20));
    expect(written).not.toContain(hidden.slice(-16));
  }
});

test('with Redis frozen a key with limits gets a prompt 503 with the time to wait', async () => {
  const { secret } = await makeKey({ limits: { requestsPerMinute: 100 } });
  expect((await call({ secret })).status).toBe(200);
  redisServer.kill('SIGSTOP');
  try {
    const refused = await call({ secret });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
  } finally {
    redisServer.kill('SIGCONT');
  }
  await waitFor(async () => (await call({ secret })).status === 200);
});
