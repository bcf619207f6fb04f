import { type Consumption, NOTHING_CONSUMED, type UsageOutcome } from '@gateway/contracts/usage/usage-record';
import { createLedger } from '@gateway/metering/ledger/ledger';
import { createRefusalCounts } from '@gateway/metering/usage/refusal-counts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { adminOpenapi } from '../api/openapi.ts';
import {
  BalanceReply,
  ChangedKeyReply,
  KeyPage,
  KeyReply,
  NewKeyReply,
  RotatedKeyReply,
  TeamPage,
  TeamReply,
} from '../api/schemas/access.ts';
import { AuditPage, ChannelPage, FoundPage } from '../api/schemas/operations.ts';
import { UsagePage } from '../api/schemas/traffic.ts';
import { TOKEN } from '../testing/run-admin.ts';
import { useAdmin } from '../testing/use-admin.ts';

const CONFIGURATION = `
channels:
  one: { provider: openai, apiKey: "\${SOME_PROVIDER_KEY}", speaks: [chat] }
models:
  gpt-5: { kind: text, routes: [{ channel: one }] }
  "claude-*": { kind: text, routes: [{ channel: one, model: other }] }
`;

const admin = useAdmin({ configuration: CONFIGURATION });

const send = (method: string, path: string, body?: unknown) =>
  fetch(`${admin.url}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      'content-type': 'application/json',
      'x-gateway-actor': 'alice',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

/** The answer, after a check against the API's description. */
async function call<Schema extends z.ZodType>(
  schema: Schema,
  method: string,
  path: string,
  body?: unknown,
): Promise<z.infer<Schema>> {
  const response = await send(method, path, body);
  const value = await response.json();
  expect(response.ok, JSON.stringify(value)).toBe(true);
  return schema.parse(value);
}

const Refusal = z.object({
  error: z.object({ code: z.string(), message: z.string(), path: z.string().nullable() }),
});
async function refused(method: string, path: string, body?: unknown) {
  const response = await send(method, path, body);
  return { status: response.status, ...Refusal.parse(await response.json()).error };
}

const full = {
  name: 'search',
  team: 'platform',
  owner: 'ann@example.com',
  models: ['gpt-*', 'claude-opus'],
  endpoints: ['responses'],
  limits: { requestsPerMinute: 60, concurrentRequests: 5 },
  budget: { usd: 12.5, period: 'month', allowUnpriced: true },
  expiresAt: '2126-01-01T00:00:00Z',
  disabled: false,
  priority: 'high',
  labels: { costCentre: '42' },
};

test('limits are merged, null removes, and members that a patch does not name stay', async () => {
  await call(TeamReply, 'POST', '/teams', { name: 'platform' });
  const { key: _key, warnings, ...made } = await call(NewKeyReply, 'POST', '/keys', full);
  expect(warnings).toEqual([]);
  expect(made).toMatchObject(full);
  const patch = {
    limits: { requestsPerMinute: null, tokensPerMinute: 1000 },
    budget: { usd: 0.000001 },
    labels: { costCentre: null, stage: 'test' },
    endpoints: null,
    disabled: true,
  };
  const changed = await call(ChangedKeyReply, 'PATCH', `/keys/${made.id}`, patch);
  const expected = {
    ...made,
    limits: { concurrentRequests: 5, tokensPerMinute: 1000 },
    budget: { usd: 0.000001, period: 'month', allowUnpriced: true },
    labels: { stage: 'test' },
    endpoints: null,
    disabled: true,
  };
  expect(changed).toEqual({ ...expected, warnings: [] });
  const cleared = await call(ChangedKeyReply, 'PATCH', `/keys/${made.id}`, {
    limits: null,
    budget: null,
    expiresAt: null,
    priority: null,
  });
  expect(cleared).toMatchObject({ limits: {}, budget: null, expiresAt: null, labels: { stage: 'test' } });
  expect(cleared.priority).toBe('normal');
  expect(await call(KeyReply, 'GET', `/keys/${made.id}`)).toMatchObject({ disabled: true, limits: {} });
});

test("limits for some models are merged by pattern and by limit, for keys and teams; warned of where a key's fit none", async () => {
  const models = {
    'gpt-*': { requestsPerMinute: 5, tokensPerMinute: 1000 },
    'claude-*': { imagesPerMinute: 2 },
  };
  const made = await call(NewKeyReply, 'POST', '/keys', {
    name: 'x',
    limits: { requestsPerMinute: 60, models },
  });
  expect(made.limits).toEqual({ requestsPerMinute: 60, models });
  expect(await call(KeyReply, 'GET', `/keys/${made.id}`)).toMatchObject({ limits: made.limits });
  const patch = {
    'gpt-*': { tokensPerMinute: null, audioSecondsPerMinute: 90 },
    'claude-*': null,
    'o3:x': {},
  };
  const changed = await call(ChangedKeyReply, 'PATCH', `/keys/${made.id}`, { limits: { models: patch } });
  const left = { 'gpt-*': { requestsPerMinute: 5, audioSecondsPerMinute: 90 }, 'o3:x': {} };
  expect(changed.limits).toEqual({ requestsPerMinute: 60, models: left });
  expect(changed.warnings).toEqual(["The pattern 'o3:x' matches no model of the configuration."]);
  const { limits } = await call(BalanceReply, 'GET', `/keys/${made.id}/balance`);
  expect(limits).toEqual([
    { limit: 'requestsPerMinute', model: null, value: 60, remaining: 60 },
    { limit: 'requestsPerMinute', model: 'gpt-*', value: 5, remaining: 5 },
    { limit: 'audioSecondsPerMinute', model: 'gpt-*', value: 90, remaining: 90 },
  ]);
  await call(TeamReply, 'POST', '/teams', { name: 'platform', limits: { models } });
  const team = await call(TeamReply, 'PATCH', '/teams/platform', { limits: { models: { 'gpt-*': null } } });
  expect(team.limits).toEqual({ models: { 'claude-*': { imagesPerMinute: 2 } } });
  const none = await call(ChangedKeyReply, 'PATCH', `/keys/${made.id}`, { limits: { models: null } });
  expect(none.limits).toEqual({ requestsPerMinute: 60 });
});

const patternsOf = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`gpt-${index}`, { imagesPerMinute: 1 }]));

test.for([
  [
    { limits: { models: { 'gpt-*': { tokensPerMinute: 0 } } } },
    'integer_below_min_value',
    'limits.models.gpt-*.tokensPerMinute',
  ],
  [
    { limits: { models: { 'gpt-*': { concurrentRequests: 1 } } } },
    'unknown_parameter',
    'limits.models.gpt-*.concurrentRequests',
  ],
  [{ limits: { models: { 'gpt-*': 5 } } }, 'invalid_type', 'limits.models.gpt-*'],
  [{ limits: { models: { '': { tokensPerMinute: 1 } } } }, 'invalid_value', 'limits.models.'],
  [{ limits: { models: ['gpt-*'] } }, 'invalid_type', 'limits.models'],
  [{ limits: { models: patternsOf(17) } }, 'invalid_value', 'limits.models'],
  [{ limits: { requestsPerMinute: -1 } }, 'integer_below_min_value', 'limits.requestsPerMinute'],
  [{ limits: { requestsPerMinute: 0 } }, 'integer_below_min_value', 'limits.requestsPerMinute'],
  [{ limits: { requestsPerMinute: 1.5 } }, 'invalid_type', 'limits.requestsPerMinute'],
  [{ limits: { requestsPerHour: 5 } }, 'unknown_parameter', 'limits.requestsPerHour'],
  [{ endpoints: ['video'] }, 'invalid_value', 'endpoints[0]'],
  [{ endpoints: [] }, 'array_below_min_length', 'endpoints'],
  [{ budget: { eur: 5, period: 'day' } }, 'unknown_parameter', 'budget.eur'],
  [{ budget: { usd: -1 } }, 'decimal_below_min_value', 'budget.usd'],
  [{ budget: { usd: 0.0000001 } }, 'invalid_value', 'budget.usd'],
  [{ budget: { usd: 5, period: 'year' } }, 'invalid_value', 'budget.period'],
  [{ team: 'a:b' }, 'invalid_value', 'team'],
  [{ name: null }, 'missing_required_parameter', 'name'],
  [{ expiresAt: '2020-01-01T00:00:00Z' }, 'invalid_value', 'expiresAt'],
  [{ colour: 'red' }, 'unknown_parameter', 'colour'],
  [{ id: 'key_other' }, 'unknown_parameter', 'id'],
  [[], 'invalid_type', ''],
] as const)(
  'a wrong patch is refused with the path of the mistake and changes nothing: %j',
  async ([patch, code, path]) => {
    const made = await admin.keys.createKey({ name: 'search', budget: { usd: 5, period: 'day' } });
    const name = `gateway:key:${made.record.id}`;
    const before = await admin.redis.get(name);
    const withGoodPart = Array.isArray(patch) ? patch : { disabled: true, ...patch };
    expect(await refused('PATCH', `/keys/${made.record.id}`, withGoodPart)).toMatchObject({
      status: 400,
      code,
      path: path === '' ? expect.anything() : path,
    });
    expect(await admin.redis.get(name)).toBe(before);
    expect((await call(AuditPage, 'GET', '/audit')).data).toHaveLength(1);
  },
);

test('settings that are allowed but unlikely to be intended get a warning', async () => {
  const wish = { name: 'x', models: ['gpt-5', 'gpt-*', 'claude-3*', '*', 'llama-*'], team: 'nobody' };
  const { warnings, id } = await call(NewKeyReply, 'POST', '/keys', wish);
  expect(warnings).toEqual([
    "The pattern 'llama-*' matches no model of the configuration.",
    "There is no team 'nobody' yet: the key has only its own limits until that team is created.",
  ]);
  const changed = await call(ChangedKeyReply, 'PATCH', `/keys/${id}`, { models: ['gpt-5'], team: null });
  expect(changed.warnings).toEqual([]);
});

test('a key is rotated with a grace and revoked; a revoked one is neither changed nor rotated', async () => {
  const made = await call(NewKeyReply, 'POST', '/keys', { name: 'search' });
  const rotated = await call(RotatedKeyReply, 'POST', `/keys/${made.id}/rotate`, { graceSeconds: 60 });
  expect(rotated.oldSecretUntil).not.toBeNull();
  expect(await admin.keys.findKey(made.key)).toBeDefined();
  expect(await admin.keys.findKey(rotated.key)).toBeDefined();
  const again = await call(RotatedKeyReply, 'POST', `/keys/${made.id}/rotate`, {});
  expect(await admin.keys.findKey(rotated.key)).toBeUndefined();
  expect(again.oldSecretUntil).toBeNull();
  await call(KeyReply, 'DELETE', `/keys/${made.id}`);
  expect(await admin.keys.findKey(again.key)).toBeUndefined();
  expect(await refused('POST', `/keys/${made.id}/rotate`, {})).toMatchObject({
    status: 409,
    code: 'conflict',
  });
  expect((await refused('PATCH', `/keys/${made.id}`, { name: 'y' })).status).toBe(409);
  expect((await refused('POST', '/keys/key_nobody/rotate', {})).status).toBe(404);
  expect((await refused('POST', `/keys/${made.id}/rotate`, { graceSeconds: -1 })).path).toBe('graceSeconds');
});

test('a team is made, read, changed, listed, and deleted once no key is left in it', async () => {
  const budget = { usd: 100, period: 'month' };
  const made = await call(TeamReply, 'POST', '/teams', { name: 'data science', budget });
  expect(made).toMatchObject({
    name: 'data science',
    limits: {},
    budget: { ...budget, allowUnpriced: false },
  });
  expect((await refused('POST', '/teams', { name: 'data science' })).status).toBe(409);
  const path = '/teams/data%20science';
  const changed = await call(TeamReply, 'PATCH', path, { limits: { tokensPerMinute: 5 }, budget: null });
  expect(changed).toMatchObject({ limits: { tokensPerMinute: 5 }, budget: null });
  expect(await call(TeamReply, 'GET', path)).toEqual(changed);
  expect(await call(TeamPage, 'GET', '/teams')).toEqual({ data: [changed], next: null });
  expect(await refused('PATCH', path, { name: 'other' })).toMatchObject({ status: 400, path: 'name' });
  expect(await refused('POST', '/teams', { name: 'a/b' })).toMatchObject({ status: 400, path: 'name' });
  const { record } = await admin.keys.createKey({ name: 'x', team: 'data science' });
  expect((await refused('DELETE', path)).message).toContain(record.id);
  await admin.keys.revokeKey(record.id);
  await call(TeamReply, 'DELETE', path);
  for (const method of ['GET', 'DELETE']) expect((await refused(method, path)).status).toBe(404);
});

test("what is left of a key's and a team's limits and budget can be read", async () => {
  const made = await call(NewKeyReply, 'POST', '/keys', full);
  await admin.redis.zadd(`gateway:{meter}:places:${made.id}`, Date.now() + 60_000, 'one');
  const balance = await call(BalanceReply, 'GET', `/keys/${made.id}/balance`);
  expect(balance).toMatchObject({
    limits: [
      { limit: 'requestsPerMinute', model: null, value: 60, remaining: 60 },
      { limit: 'concurrentRequests', model: null, value: 5, remaining: 4 },
    ],
    budget: { period: 'month', usd: 12.5, spentUsd: 0, reservedUsd: 0, remainingUsd: 12.5 },
  });
  expect(balance.budget?.resetsAt).toMatch(/-01T00:00:00.000Z$/);
  await call(TeamReply, 'POST', '/teams', { name: 'a b', budget: { usd: 2, period: 'total' } });
  await admin.redis.hset('gateway:{meter}:account:team:a b:total', { spent: 500_000, reserved: 250_000 });
  expect(await call(BalanceReply, 'GET', '/teams/a%20b/balance')).toEqual({
    limits: [],
    budget: {
      ...{ period: 'total', usd: 2, spentUsd: 0.5, reservedUsd: 0.25, remainingUsd: 1.25 },
      resetsAt: null,
    },
  });
  for (const path of ['/keys/key_nobody/balance', '/teams/nobody/balance'])
    expect((await refused('GET', path)).status).toBe(404);
});

async function use(
  id: string,
  keyId: string,
  model: string,
  outcome: UsageOutcome = 'ok',
  counts: Partial<Consumption> = {},
) {
  const ledger = createLedger({ redis: admin.redis, now: Date.now, keepRecordsDays: 1 });
  const subject = { id, keyId, team: null, endpoint: 'responses', model, startedAtMs: Date.now() };
  await ledger.settle(subject, {
    outcome,
    channel: 'one',
    attempts: 1,
    durationMs: 12.5,
    firstByteMs: null,
    consumption: { ...NOTHING_CONSUMED, inputTokens: 10, audioMs: 1500, ...counts },
    estimated: false,
    costMicroUsd: outcome === 'ok' ? 7 : null,
  });
}

test('usage is summed up by the query, with refused requests', async () => {
  await use('req_1', 'key_a', 'gpt-5');
  await use('req_2', 'key_a', 'gpt-5', 'cut');
  await use('req_3', 'key_b', 'claude');
  const refusals = createRefusalCounts({ redis: admin.redis, now: Date.now, keepSumsDays: 1 });
  for (let count = 0; count < 3; count += 1)
    refusals.add({ keyId: 'key_a', team: null, endpoint: 'responses', model: null });
  await refusals.close();
  const all = await call(UsagePage, 'GET', '/usage?groupBy=model,day&keyId=key_a');
  const day = new Date().toISOString().slice(0, 10);
  const unmeasured = { p50: null, p95: null };
  const nothing = {
    ...{ cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0, images: 0, characters: 0 },
    ...{ requests: 0, failed: 0, refused: 0, inputTokens: 0, audioSeconds: 0 },
    ...{ costMicroUsd: 0, unpricedRequests: 0, firstOutputMs: unmeasured, totalMs: unmeasured },
  };
  expect(all).toEqual({
    next: null,
    data: [
      { ...nothing, model: '', day, refused: 3 },
      {
        ...nothing,
        ...{ model: 'gpt-5', day, requests: 2, failed: 1, inputTokens: 20, audioSeconds: 3 },
        ...{ costMicroUsd: 7, unpricedRequests: 1 },
        // The end of the bucket in which 12.5 ms lie.
        totalMs: { p50: 16, p95: 16 },
      },
    ],
  });
  expect((await call(UsagePage, 'GET', '/usage')).data).toMatchObject([{ requests: 3, refused: 3 }]);
  expect((await call(UsagePage, 'GET', '/usage?groupBy=hour')).data[0]).toMatchObject({
    hour: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:00:00Z$/),
  });
  expect((await call(UsagePage, 'GET', '/usage?from=2020-01-01&to=2020-02-01')).data).toEqual([]);
});

test.for([
  ['groupBy=colour', 'groupBy'],
  ['from=yesterday', 'from'],
  ['from=2026-02-31', 'from'],
  ['from=2026-11-20&to=2026-11-19', 'from'],
  ['from=2000-01-01&to=2026-11-19', 'from'],
  ['user=me', 'user'],
])('a wrong query of usage is refused: %s', async ([query, path]) => {
  expect(await refused('GET', `/usage?${query}`)).toMatchObject({ status: 400, path });
});

test('records are exported whole, as CSV that no spreadsheet runs, and as NDJSON', async () => {
  await use('req_1', 'key_a', '=cmd("x"),1');
  const toolCalls = { web_search: 3, code_interpreter: 1 };
  await use('req_2', 'key_b', 'gpt-5', 'left', { cacheWriteTokens: 4, cacheWrite1hTokens: 3, toolCalls });
  const csv = await (await send('GET', '/usage/records?format=csv')).text();
  const [head, first, second, end] = csv.split('\r\n');
  expect(head).toBe(
    'id,startedAt,keyId,keyName,team,endpoint,model,channel,outcome,errorCode,status,endUser,session,label,attempts,durationMs,firstByteMs,inputTokens,cachedInputTokens,cacheWriteTokens,cacheWrite1hTokens,outputTokens,reasoningTokens,audioInputTokens,cachedAudioTokens,imageInputTokens,cachedImageTokens,audioOutputTokens,images,characters,toolCalls,audioSeconds,estimated,costMicroUsd',
  );
  expect(first).toMatch(
    /^req_1,[^,]+,key_a,,,responses,"'=cmd\(""x""\),1",one,ok,,,,,,1,12\.5,,10,.*,1\.5,false,7$/,
  );
  expect(second).toMatch(
    /^req_2,.*,left,,,,,,1,12\.5,,10,0,4,3,0,0,0,0,0,0,0,0,0,code_interpreter=1 web_search=3,1\.5,false,$/,
  );
  expect(end).toBe('');
  const response = await send('GET', '/usage/records?keyId=key_b');
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  const lines = (await response.text()).trim().split('\n');
  const [only, ...others] = lines.map((line) => JSON.parse(line));
  expect(others).toEqual([]);
  expect(only).toMatchObject({
    id: 'req_2',
    outcome: 'left',
    costMicroUsd: null,
    cacheWrite1hTokens: 3,
    toolCalls,
  });
  expect(Object.keys(only).join(',')).toBe(head);
  expect(await (await send('GET', '/usage/records?format=csv&to=2020-01-01')).text()).toBe(`${head}\r\n`);
  expect((await refused('GET', '/usage/records?format=xlsx')).path).toBe('format');
});

test.for(['=1+1', '+1', '-1', '@a', '\t=1', '\r=1', '\n=1'])(
  'a cell of CSV that a spreadsheet would run is a text: %j',
  async (model) => {
    await use('req_1', 'key_a', model);
    const csv = await (await send('GET', '/usage/records?format=csv')).text();
    const cell = /[\r\n]/.test(model) ? `"'${model}"` : `'${model}`;
    expect(csv).toContain(`,responses,${cell},one,`);
  },
);

test('a long export arrives whole, page after page', async () => {
  await Promise.all(Array.from({ length: 1203 }, (_, n) => use(`req_${n}`, 'key_a', 'gpt-5')));
  const lines = (await (await send('GET', '/usage/records')).text()).trim().split('\n');
  expect(new Set(lines.map((line) => JSON.parse(line).id)).size).toBe(1203);
});

test('every change is in the audit log under the name that the client gave, page after page', async () => {
  const made = await call(NewKeyReply, 'POST', '/keys', { name: 'search' });
  await call(ChangedKeyReply, 'PATCH', `/keys/${made.id}`, { limits: { tokensPerMinute: 7 } });
  await call(TeamReply, 'POST', '/teams', { name: 'platform' });
  const first = await call(AuditPage, 'GET', '/audit?limit=2');
  const second = await call(AuditPage, 'GET', `/audit?limit=2&cursor=${first.next}`);
  expect([...first.data, ...second.data].map(({ action }) => action)).toEqual([
    'team.created',
    'key.changed',
    'key.created',
  ]);
  expect(first.data[1]).toMatchObject({
    who: 'alice',
    requestId: expect.stringMatching(/^req_/),
    subject: made.id,
    before: { limits: {} },
    after: { limits: { tokensPerMinute: 7 } },
  });
  expect(JSON.stringify([first, second])).not.toContain(made.key.slice(4, 20));
});

test('channels are shown as configured, without needing or revealing a provider key', async () => {
  expect(await call(ChannelPage, 'GET', '/channels')).toEqual({
    next: null,
    data: [
      {
        name: 'one',
        provider: 'openai',
        origin: 'https://api.openai.com',
        speaks: ['chat'],
        accounts: [{ name: 'default', weight: 1, maxConcurrent: null, inFlight: null, credentials: null }],
        maxConcurrentPerProcess: expect.any(Number),
        onDisconnect: 'cancel',
        models: ['gpt-5', 'claude-*'],
        rests: [],
        attempts: { lastHour: {}, lastDay: {} },
      },
    ],
  });
});

const Document = z.looseObject({
  openapi: z.literal('3.1.0'),
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ responses: z.looseObject({}) }))),
});

test('the description names every call that there is, and no other', async () => {
  const { paths } = await call(Document, 'GET', '/openapi.json');
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(described).toHaveLength(82);
  for (const name of described) {
    const [method = '', path = ''] = name.split(' ');
    const response = await send(method, path.replace('/admin/v1', '').replace(/\{\w+\}/, 'key_nobody'));
    await response.body?.cancel();
    expect([404, 200, 400], name).toContain(response.status);
    // The token is no session, no identity provider is set, and the configuration is a file.
    if (response.status === 404) expect(path).toMatch(/\{|\/session(?:\/others)?$|\/oidc|\/revisions$/);
  }
  for (const [path, methods] of Object.entries(paths)) {
    const response = await send('PUT', path.replace('/admin/v1', '').replace(/\{\w+\}/, 'x'));
    expect(response.status).toBe(405);
    const allowed = (response.headers.get('allow') ?? '').split(', ').toSorted();
    expect(allowed, path).toEqual(
      Object.keys(methods)
        .map((method) => method.toUpperCase())
        .toSorted(),
    );
  }
});

test('bodies and queries are described as they are checked', async () => {
  const text = JSON.stringify(await call(z.unknown(), 'GET', '/openapi.json'));
  expect(text).toContain('"application/merge-patch+json"');
  expect(text).toContain('"graceSeconds"');
  expect(text).toContain('"requestsPerMinute"');
  expect(text).toContain('"text/csv; charset=utf-8"');
  expect(adminOpenapi([])).toMatchObject({ paths: {} });
});

test('a list of keys has the promised shape, and goes on in the order in which it began', async () => {
  await call(NewKeyReply, 'POST', '/keys', full);
  await call(NewKeyReply, 'POST', '/keys', { name: 'second' });
  const first = await call(KeyPage, 'GET', '/keys?sort=spend&order=ascending&limit=1');
  const second = await call(KeyPage, 'GET', `/keys?sort=spend&order=ascending&limit=1&cursor=${first.next}`);
  expect([...first.data, ...second.data].map(({ name }) => name).toSorted()).toEqual(['search', 'second']);
  expect(second.next).toBeNull();
  for (const query of [`cursor=${first.next}`, 'sort=spend&cursor=key_1'])
    expect(await refused('GET', `/keys?${query}`)).toMatchObject({ status: 400, path: 'cursor' });
});

test('keys, teams, models, channels and people are found by a part of their names, the nearest first', async () => {
  await call(NewKeyReply, 'POST', '/keys', { name: 'old one of annie', owner: 'Annie' });
  await call(NewKeyReply, 'POST', '/keys', { name: 'Ann', owner: 'Annie', team: 'planning' });
  await call(TeamReply, 'POST', '/teams', { name: 'planning' });
  const found = async (q: string) =>
    (await call(FoundPage, 'GET', `/search?q=${encodeURIComponent(q)}`)).data.map(({ kind, name, about }) =>
      [kind, name, about].filter(Boolean).join(': '),
    );
  expect(await found('ann')).toEqual([
    'key: Ann: planning, Annie',
    'key: old one of annie: Annie',
    'person: Annie: owns keys',
    'team: planning',
  ]);
  expect(await found('CLAUDE')).toEqual(['model: claude-*: text']);
  expect(await found(' one')).toEqual(['key: old one of annie: Annie', 'channel: one: openai']);
  expect(await found("no such % thing'")).toEqual([]);
  expect(await refused('GET', '/search')).toMatchObject({ status: 400, path: 'q' });
});
