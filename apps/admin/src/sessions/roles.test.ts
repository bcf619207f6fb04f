import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CallerNames } from '@gateway/contracts/usage/caller-names';
import { NOTHING_CONSUMED, type UsageResult } from '@gateway/contracts/usage/usage-record';
import { generation, type JobStage, openJobStage } from '@gateway/jobs/fixtures/job-stage';
import { newJobId } from '@gateway/jobs/redis/job-keys';
import { hashOf } from '@gateway/metering/keys/key-secret';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import { createLedger, type Ledger } from '@gateway/metering/ledger/ledger';
import { createRedis } from '@gateway/redis/open-redis';
import { readSse } from '@gateway/testkit/collect-sse';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { newPersonId } from '../people/person.ts';
import { type OpenedAccess, openAccess } from '../testing/open-access.ts';
import { GATEWAY_SECRET, type RunningAdmin, runAdmin, TOKEN } from '../testing/run-admin.ts';
import { cookieOf, type Person } from '../testing/use-admin.ts';
import { ALL } from './scope.ts';

/** Everything of one team; all its texts hold the team's name. */
interface Property {
  readonly team: string;
  readonly keyId: string;
  readonly secret: string;
  readonly requestId: string;
  readonly jobId: string;
  readonly personId: string;
}

let stage: JobStage;
let redis: Redis;
let access: OpenedAccess;
let keys: KeyStore;
let ledger: Ledger;
let admin: RunningAdmin;
let red: Property;
let blue: Property;

const CONFIGURATION = `channels:
  one: { provider: openai, apiKey: some-key }
models:
  red-model: { kind: text, routes: [{ channel: one }] }
  shared-model: { kind: text, routes: [{ channel: one }] }
`;

beforeAll(async () => {
  stage = await openJobStage();
  redis = createRedis(stage.redis.url, 'request');
  await redis.connect();
  access = await openAccess(redis, { GATEWAY_DATA_DIR: stage.dataDir });
  keys = access.keys;
  ledger = createLedger({ redis, now: Date.now, keepRecordsDays: 30 });
  const path = join(stage.dataDir, 'gateway.yaml');
  await writeFile(path, CONFIGURATION);
  admin = await runAdmin(stage.redis.url, {
    GATEWAY_CONFIG: path,
    GATEWAY_DATA_DIR: stage.dataDir,
    WEBHOOK_SECRET: 'a webhook secret of more than 32 characters',
  });
  red = await propertyOf('red');
  blue = await propertyOf('blue');
});
afterAll(async () => {
  await admin.stop();
  await access[Symbol.asyncDispose]();
  await redis.quit();
  await stage.close();
});

const BY = { who: 'test', requestId: null };

async function propertyOf(team: string): Promise<Property> {
  const budget = { usd: 1, period: 'total' as const };
  await access.teams.createTeam({ name: team, budget }, BY);
  const settings = { name: `${team} key`, team, owner: `${team} owner`, models: [`${team}-*`], budget };
  const { record, secret } = await keys.createKey(settings, BY);
  const requestId = `req-${team}-1`;
  await spend({ team, keyId: record.id, requestId });
  const queue = await stage.openQueue();
  const jobId = newJobId();
  const subject = { id: jobId, keyId: record.id, team, endpoint: 'images', startedAtMs: Date.now() };
  const model = `${team}-painter`;
  await queue.enqueue(
    'image.generation',
    { ...generation, model },
    {
      ...{ keyId: record.id, requestId: `req-${team}-job`, isDetached: true },
      metering: { subject: { ...subject, model }, estimate: RESULT },
    },
  );
  const personId = newPersonId(Date.now());
  const person = {
    ...{
      id: personId,
      email: `${team}@example.com`,
      name: `${team} person`,
      role: 'team-member',
      teams: [team],
    },
    ...{ isDisabled: false, passwordHash: null, link: null, epoch: 0 },
    ...{ createdAtMs: Date.now(), lastSignInAtMs: null },
  };
  await access.people.add(person, BY, { action: 'person.invited', before: null, after: null });
  return { team, keyId: record.id, secret, requestId, jobId, personId };
}

const RESULT: UsageResult = {
  ...{ outcome: 'ok', channel: 'one', attempts: 1, durationMs: 1, firstByteMs: null },
  ...{ consumption: NOTHING_CONSUMED, estimated: false, costMicroUsd: 950_000 },
};

/** A request that leaves little of the budgets of its key and its team. */
async function spend(
  { team, keyId, requestId }: Pick<Property, 'team' | 'keyId' | 'requestId'>,
  names: CallerNames = {},
) {
  const id = `record-${requestId}`;
  const named = { endpoint: 'responses', model: `${team}-model`, startedAtMs: Date.now() };
  const subject = { id, keyId, team, requestId, ...named, ...names };
  const charges = [keyId, `team:${team}`].map((owner) => ({
    ...({ kind: 'budget', dimension: 'microUsd', period: 'total' } as const),
    ...{ owner, timeZone: 'UTC', limit: 1e9 },
  }));
  await ledger.reserve({ subject, estimate: RESULT, charges, leaseMs: 60_000 });
  await ledger.settle(subject, RESULT);
}

const ROLES = ['viewer', 'team-lead', 'team-member', 'key-holder'] as const;
type LimitedRole = (typeof ROLES)[number];

function personOf(role: LimitedRole): Person {
  const people: Record<LimitedRole, Omit<Person, 'role'>> = {
    viewer: { scope: ALL },
    'team-lead': { scope: { kind: 'teams', teams: ['red'] } },
    'team-member': { scope: { kind: 'teams', teams: ['red'] } },
    'key-holder': {
      scope: { kind: 'key', keyId: red.keyId },
      ...{ method: 'key', keyHash: hashOf(red.secret, GATEWAY_SECRET) },
    },
  };
  return { role, ...people[role] };
}

interface CallOptions {
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

async function send(call: string, cookie: string, { body, signal }: CallOptions = {}): Promise<Response> {
  const [method = '', path = ''] = call.split(' ');
  return fetch(admin.url + path, {
    method,
    headers: { cookie, origin: admin.url, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
}

interface Row {
  /** The call as it is made for the other team's things; the path as it is in the table of roles, if left out. */
  readonly path?: (of: Property) => string;
  readonly body?: (of: Property) => unknown;
  /** What each role gets. */
  readonly viewer: number;
  readonly lead: number;
  readonly holder: number;
  /** The lead's where it reads, else the holder's, if left out. */
  readonly member?: number;
}

const FORBIDDEN = { viewer: 403, lead: 403, holder: 403 };
const ANY = { viewer: 200, lead: 200, holder: 200 };
/** The other team's thing does not exist for those who see a part. */
const MISSING = { viewer: 200, lead: 404, holder: 404 };
const OVERSEERS = { viewer: 200, lead: 403, holder: 403 };
const LEADS_MISSING = { viewer: 403, lead: 404, holder: 403 };
const LEADS = { viewer: 403, lead: 200, holder: 403, member: 403 };
const NONE_YET = `msg_${'0'.repeat(32)}`;
const keyPath = (after: string) => (of: Property) => `/admin/v1/keys/${of.keyId}${after}`;
const teamPath = (after: string) => (of: Property) => `/admin/v1/teams/${of.team}${after}`;
const personPath = (after: string) => (of: Property) => `/admin/v1/people/${of.personId}${after}`;
const jobPath = (after: string) => (of: Property) => `/admin/v1/jobs/${of.jobId}${after}`;

/** Every call of the admin API, made by somebody else for the things of the team `blue`. */
const ROWS: Readonly<Record<string, Row>> = {
  'GET /admin/v1/openapi.json': ANY,
  'GET /admin/v1/sign-in': ANY,
  'GET /admin/v1/session/oidc': { viewer: 404, lead: 404, holder: 404 },
  'GET /admin/v1/session/oidc/callback': { viewer: 404, lead: 404, holder: 404 },
  'POST /admin/v1/session': { body: () => ({ token: 'a wrong one' }), viewer: 401, lead: 401, holder: 401 },
  'GET /admin/v1/session': ANY,
  'DELETE /admin/v1/session': ANY,
  'DELETE /admin/v1/session/others': { viewer: 404, lead: 404, holder: 404 },
  'POST /admin/v1/session/password': {
    ...{ body: () => ({ current: 'something', password: 'four unrelated words' }) },
    ...{ viewer: 404, lead: 404, holder: 404 },
  },
  'POST /admin/v1/password-link': { body: () => ({ token: 'none' }), viewer: 401, lead: 401, holder: 401 },
  'POST /admin/v1/password': {
    ...{ body: () => ({ token: 'none', password: 'four unrelated words' }) },
    ...{ viewer: 401, lead: 401, holder: 401 },
  },
  'GET /admin/v1/sessions': FORBIDDEN,
  'DELETE /admin/v1/sessions/{id}': FORBIDDEN,
  'GET /admin/v1/roles': ANY,
  'GET /admin/v1/people': { path: () => '/admin/v1/people?q=blue', ...LEADS },
  'POST /admin/v1/people': {
    body: ({ team }) => ({ email: `x@${team}.example.com`, name: 'x', role: 'team-member', teams: [team] }),
    ...{ viewer: 403, lead: 400, holder: 403 },
  },
  'GET /admin/v1/people/{id}': { path: personPath(''), ...LEADS_MISSING, member: 403 },
  'PATCH /admin/v1/people/{id}': {
    ...{ path: personPath(''), body: () => ({ disabled: true }) },
    ...LEADS_MISSING,
  },
  'DELETE /admin/v1/people/{id}': { path: personPath(''), ...LEADS_MISSING },
  'POST /admin/v1/people/{id}/link': { path: personPath('/link'), ...LEADS_MISSING },
  'DELETE /admin/v1/people/{id}/link': { path: personPath('/link'), ...LEADS_MISSING },
  'POST /admin/v1/people/{id}/sign-out': { path: personPath('/sign-out'), ...LEADS_MISSING },
  'GET /admin/v1/group-rules': FORBIDDEN,
  'POST /admin/v1/group-rules': { body: () => ({ group: 'all', role: 'admin' }), ...FORBIDDEN },
  'POST /admin/v1/group-rules/preview': { body: () => ({ groups: ['all'] }), ...FORBIDDEN },
  'DELETE /admin/v1/group-rules/{group}': FORBIDDEN,
  'GET /admin/v1/gateway': ANY,

  'GET /admin/v1/keys': { path: () => '/admin/v1/keys?sort=spend', ...ANY },
  'GET /admin/v1/key-balances': { path: ({ keyId }) => `/admin/v1/key-balances?ids=${keyId}`, ...ANY },
  'GET /admin/v1/keys/{id}': { path: keyPath(''), ...MISSING },
  'GET /admin/v1/keys/{id}/balance': { path: keyPath('/balance'), ...MISSING },
  'POST /admin/v1/keys': {
    ...{ body: ({ team }) => ({ name: 'one more', team }) },
    ...{ viewer: 403, lead: 400, holder: 403 },
  },
  'PATCH /admin/v1/keys/{id}': { path: keyPath(''), body: () => ({ disabled: true }), ...LEADS_MISSING },
  'DELETE /admin/v1/keys/{id}': { path: keyPath(''), ...LEADS_MISSING },
  'POST /admin/v1/keys/{id}/rotate': { path: keyPath('/rotate'), body: () => ({}), ...LEADS_MISSING },
  'POST /admin/v1/keys/{id}/webhook-secret': {
    ...{ path: keyPath('/webhook-secret'), body: () => ({}) },
    ...LEADS_MISSING,
  },

  'GET /admin/v1/teams': { viewer: 200, lead: 200, holder: 403 },
  'GET /admin/v1/teams/{name}': { path: teamPath(''), viewer: 200, lead: 404, holder: 403 },
  'GET /admin/v1/teams/{name}/balance': { path: teamPath('/balance'), viewer: 200, lead: 404, holder: 403 },
  'POST /admin/v1/teams': { body: () => ({ name: 'green' }), ...FORBIDDEN },
  'PATCH /admin/v1/teams/{name}': { path: teamPath(''), body: () => ({ budget: null }), ...FORBIDDEN },
  'DELETE /admin/v1/teams/{name}': { path: teamPath(''), ...FORBIDDEN },

  'GET /admin/v1/search': {
    ...{ path: ({ team }) => `/admin/v1/search?q=${team}`, viewer: 200, lead: 200, holder: 403 },
  },

  'GET /admin/v1/usage': { path: ({ keyId }) => `/admin/v1/usage?groupBy=model&keyId=${keyId}`, ...ANY },
  'GET /admin/v1/usage/records': { path: ({ team }) => `/admin/v1/usage/records?team=${team}`, ...ANY },
  'GET /admin/v1/requests': { path: ({ keyId }) => `/admin/v1/requests?keyId=${keyId}`, ...ANY },
  'GET /admin/v1/requests/tail': { path: () => '/admin/v1/requests/tail', ...ANY },
  'GET /admin/v1/requests/{id}': { path: ({ requestId }) => `/admin/v1/requests/${requestId}`, ...MISSING },
  'GET /admin/v1/requests/{id}/content': FORBIDDEN,
  'GET /admin/v1/requests/{id}/conversation': FORBIDDEN,
  'DELETE /admin/v1/requests/{id}/content': FORBIDDEN,
  'DELETE /admin/v1/content': FORBIDDEN,

  'GET /admin/v1/audit': OVERSEERS,
  'GET /admin/v1/channels': OVERSEERS,
  'POST /admin/v1/channels/{name}/rest': FORBIDDEN,
  'POST /admin/v1/channels/{name}/wake': FORBIDDEN,
  'POST /admin/v1/channels/{name}/test': FORBIDDEN,
  'GET /admin/v1/models': ANY,
  'GET /admin/v1/configuration': OVERSEERS,
  'POST /admin/v1/configuration/check': { body: () => ({ text: '' }), ...OVERSEERS },
  'GET /admin/v1/configuration/providers': OVERSEERS,
  'POST /admin/v1/configuration/providers/try': {
    body: () => ({ name: 'one', provider: 'ollama' }),
    ...FORBIDDEN,
  },
  'GET /admin/v1/configuration/model-servers': FORBIDDEN,
  'POST /admin/v1/configuration/draft': { body: () => ({}), ...FORBIDDEN },
  'POST /admin/v1/configuration/draft/costs': { body: () => ({}), ...FORBIDDEN },
  'POST /admin/v1/configuration/draft/try': {
    body: () => ({ text: 'channels: {}', model: 'gpt-5', input: 'hello' }),
    ...FORBIDDEN,
  },
  // Here the file is the truth.
  'GET /admin/v1/configuration/revisions': { viewer: 404, lead: 403, holder: 403 },
  'GET /admin/v1/configuration/revisions/{number}': {
    path: () => '/admin/v1/configuration/revisions/1',
    ...FORBIDDEN,
  },
  'POST /admin/v1/configuration/revisions': {
    body: () => ({ base: 0, text: '', reason: 'mine' }),
    ...FORBIDDEN,
  },
  'POST /admin/v1/configuration/revisions/{number}/restore': {
    ...{ path: () => '/admin/v1/configuration/revisions/1/restore' },
    ...{ body: () => ({ base: 1, reason: 'mine' }), ...FORBIDDEN },
  },
  'GET /admin/v1/attention': { viewer: 200, lead: 200, holder: 403 },
  'GET /admin/v1/alerts': OVERSEERS,
  'POST /admin/v1/alerts/receivers/{name}/test': FORBIDDEN,

  'GET /admin/v1/queues': OVERSEERS,
  'GET /admin/v1/jobs': { path: () => '/admin/v1/jobs?status=queued', viewer: 200, lead: 200, holder: 403 },
  'GET /admin/v1/jobs/{id}': { path: jobPath(''), viewer: 200, lead: 404, holder: 403 },
  'GET /admin/v1/jobs/{id}/lines': { path: jobPath('/lines'), viewer: 200, lead: 404, holder: 403 },
  'POST /admin/v1/jobs/{id}/cancel': { path: jobPath('/cancel'), ...FORBIDDEN },
  'POST /admin/v1/jobs/{id}/requeue': { path: jobPath('/requeue'), ...FORBIDDEN },

  'GET /admin/v1/webhooks': OVERSEERS,
  'GET /admin/v1/webhooks/{id}': {
    ...{ path: () => `/admin/v1/webhooks/${NONE_YET}` },
    ...{ viewer: 404, lead: 403, holder: 403 },
  },
  'POST /admin/v1/webhooks/{id}/replay': FORBIDDEN,
};

const statusFor = (call: string, { viewer, lead, holder, member }: Row): Record<LimitedRole, number> => ({
  viewer,
  'team-lead': lead,
  'team-member': member ?? (call.startsWith('GET ') ? lead : holder),
  'key-holder': holder,
});

const Description = z.looseObject({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

test('the table below decides about every call that there is', async () => {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const reply = await fetch(`${admin.url}/admin/v1/openapi.json`, { headers });
  const { paths } = Description.parse(await reply.json());
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(Object.keys(ROWS).toSorted()).toEqual(calls.toSorted());
});

const callFor = (call: string, { path }: Row, of: Property): string =>
  path === undefined ? call : `${call.split(' ')[0]} ${path(of)}`;

/** Reads no further than the head of a stream that has no end. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text();
  await response.body?.cancel();
  return '';
}

test.for(ROLES)(
  'a %s makes the calls of its role, and another team is as if it did not exist',
  async (role) => {
    const before = await keys.getKey(blue.keyId);
    for (const [call, row] of Object.entries(ROWS)) {
      const cookie = await cookieOf(redis, personOf(role));
      const reply = await send(callFor(call, row, blue), cookie, { body: row.body?.(blue) });
      const text = await textOf(reply);
      expect([call, reply.status], text).toEqual([call, statusFor(call, row)[role]]);
      if (role === 'viewer' || !reply.ok) continue;
      for (const foreign of ['blue', ...Object.values(blue)]) expect(text, call).not.toContain(foreign);
    }
    expect(await keys.getKey(blue.keyId)).toEqual(before);
  },
);

test('what another team has is refused with the very answer for what does not exist', async () => {
  const nothing: Property = {
    ...{ team: 'green', keyId: 'key_nobody', secret: '' },
    ...{ requestId: 'req-green-1', jobId: newJobId(), personId: newPersonId(Date.now()) },
  };
  const cookie = await cookieOf(redis, personOf('team-lead'));
  const missing = Object.entries(ROWS).filter(([, { lead }]) => lead === 404);
  expect(missing.length).toBeGreaterThan(8);
  for (const [call, row] of missing) {
    const answers = [blue, nothing].map(async (of) => {
      const reply = await send(callFor(call, row, of), cookie, { body: row.body?.(of) });
      const text = await reply.text();
      return Object.values(of).reduce(
        (masked, one) => (one === '' ? masked : masked.replaceAll(one, '…')),
        text,
      );
    });
    const [foreign, absent] = await Promise.all(answers);
    expect([call, foreign]).toEqual([call, absent]);
  }
});

test.for([
  ['team-lead', 'GET /admin/v1/keys', 'red key'],
  ['team-lead', 'GET /admin/v1/keys?sort=lastUsed', 'red key'],
  ['team-lead', 'GET /admin/v1/search?q=red', 'red key'],
  ['team-lead', 'GET /admin/v1/search?q=owner', 'red owner'],
  ['team-lead', 'GET /admin/v1/search?q=RED', '"kind":"team","id":"red"'],
  ['team-lead', 'GET /admin/v1/teams', '"name":"red"'],
  ['team-lead', 'GET /admin/v1/teams/red/balance', 'spentUsd'],
  ['team-lead', 'GET /admin/v1/usage?groupBy=model', 'red-model'],
  ['team-lead', 'GET /admin/v1/usage/records?format=csv', 'red-model'],
  ['team-lead', 'GET /admin/v1/requests', 'req-red-1'],
  ['team-lead', 'GET /admin/v1/requests/req-red-1', 'req-red-1'],
  ['team-lead', 'GET /admin/v1/jobs?status=queued', 'red-painter'],
  ['team-lead', 'GET /admin/v1/attention', "of the key 'red key'"],
  ['team-lead', 'GET /admin/v1/attention', "of the team 'red'"],
  ['team-lead', 'GET /admin/v1/models', 'shared-model'],
  ['key-holder', 'GET /admin/v1/keys', 'red key'],
  ['key-holder', 'GET /admin/v1/usage?groupBy=model', 'red-model'],
  ['key-holder', 'GET /admin/v1/requests', 'req-red-1'],
  ['key-holder', 'GET /admin/v1/models', 'red-model'],
] as const)('a %s sees what is its own: %s has %s', async ([role, call, own]) => {
  const reply = await send(call, await cookieOf(redis, personOf(role)));
  const text = await reply.text();
  expect(text).toContain(own);
  expect(text).not.toContain('blue');
});

test('a key holder sees the models that the key may use, and not who serves them', async () => {
  const reply = await send('GET /admin/v1/models', await cookieOf(redis, personOf('key-holder')));
  expect(await reply.json()).toMatchObject({ data: [{ name: 'red-model', routes: [] }] });
});

test('the tail shows the requests of its own team as they end', async () => {
  const stop = new AbortController();
  const cookie = await cookieOf(redis, personOf('team-lead'));
  const reply = await send('GET /admin/v1/requests/tail', cookie, { signal: stop.signal });
  const events = readSse(reply);
  await spend({ ...blue, requestId: 'req-blue-2' });
  await spend({ ...red, requestId: 'req-red-2' });
  const { value } = await events.next();
  expect(value).toMatchObject({ event: 'request', json: { requestId: 'req-red-2', team: 'red' } });
  stop.abort();
});

test("no filter and no export shows a team lead another team's requests, or the name of a key that has left the team", async () => {
  const names = { endUser: 'user-7', session: 'session-7', label: 'label-7' };
  const { record } = await keys.createKey({ name: 'a key that moves', team: 'red', owner: 'ann' }, BY);
  await spend({ team: 'red', keyId: record.id, requestId: 'req-red-7' }, names);
  await spend({ ...blue, requestId: 'req-blue-7' }, names);
  await keys.updateKey(record.id, () => ({ name: 'blue secret plan', team: 'blue', owner: 'ann' }), BY);
  const cookie = await cookieOf(redis, personOf('team-lead'));
  const filters = [
    ...['endUser=user-7', 'session=session-7', 'label=label-7', 'owner=ann', 'owner=blue owner'],
    ...['errorCode=', 'status=', 'attemptChannel=one', 'minTotalMs=1', 'id=req-'],
  ];
  const from = `from=${new Date(Date.now() - 3_600_000).toISOString()}`;
  const calls = [
    ...filters.flatMap((filter) => [`requests?${filter}`, `usage/records?format=csv&${filter}`]),
    ...['minute', 'fiveMinutes', 'hour', 'errorCode'].map((by) => `usage?${from}&groupBy=keyId,team,${by}`),
    ...filters.slice(0, 5).map((filter) => `usage?${from}&groupBy=keyId,team,minute&exact=true&${filter}`),
  ];
  for (const call of calls) {
    const reply = await send(`GET /admin/v1/${call}`, cookie);
    const text = await reply.text();
    expect([call, reply.status], text).toEqual([call, 200]);
    for (const foreign of ['blue', blue.keyId]) expect(text, call).not.toContain(foreign);
    if (!call.includes('blue')) expect(text, call).toContain('red');
  }
});

test('a team lead makes, changes, rotates, disables and revokes keys of the own team', async () => {
  const cookie = await cookieOf(redis, personOf('team-lead'));
  const body = { name: 'second', team: 'red', limits: { requestsPerMinute: 5 } };
  const made = await send('POST /admin/v1/keys', cookie, { body });
  const { id } = z.looseObject({ id: z.string() }).parse(await made.json());
  const key = `/admin/v1/keys/${id}`;
  const patch = { disabled: true, budget: { usd: 3, period: 'day' } };
  expect((await send(`PATCH ${key}`, cookie, { body: patch })).status).toBe(200);
  expect((await send(`POST ${key}/rotate`, cookie, { body: {} })).status).toBe(200);
  expect((await send(`POST ${key}/webhook-secret`, cookie, { body: {} })).status).toBe(200);
  expect((await send(`DELETE ${key}`, cookie)).status).toBe(200);
  expect(await keys.getKey(id)).toMatchObject({ team: 'red', revokedAt: expect.any(String) });
});

test.for([
  ['a key without a team', 'POST', { name: 'x' }, 'team'],
  ["another team's key", 'POST', { name: 'x', team: 'blue' }, 'team'],
  ['a key of a high priority', 'POST', { name: 'x', team: 'red', priority: 'high' }, 'priority'],
  ['more turns', 'POST', { name: 'x', team: 'red', limits: { jobWeight: 9 } }, 'limits.jobWeight'],
  ['the key in another team', 'PATCH', { team: 'blue' }, 'team'],
  ['the key in no team', 'PATCH', { team: null }, 'team'],
  ['a high priority', 'PATCH', { priority: 'high' }, 'priority'],
  ['a better place in queues', 'PATCH', { limits: { jobPriority: 0 } }, 'limits.jobPriority'],
  ['more storage', 'PATCH', { limits: { keptResultBytes: 9e9 } }, 'limits.keptResultBytes'],
] as const)('a team lead does not get %s', async ([, method, body, path]) => {
  const cookie = await cookieOf(redis, personOf('team-lead'));
  const target = method === 'POST' ? '/admin/v1/keys' : `/admin/v1/keys/${red.keyId}`;
  const before = await keys.getKey(red.keyId);
  const reply = await send(`${method} ${target}`, cookie, { body });
  expect([reply.status, await reply.json()]).toMatchObject([400, { error: { path } }]);
  expect(await keys.getKey(red.keyId)).toEqual(before);
});
