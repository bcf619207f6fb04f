import { emptyRedis } from '@gateway/metering/testing/records-in-redis';
import { emptyDatabase } from '@gateway/records/testing/empty-database';
import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { type TemporaryFolder, temporaryFolder } from '@gateway/testkit/temporary-folder';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type OpenedAccess, openAccess } from '../testing/open-access.ts';
import { type RunningAdmin, runAdmin, TOKEN } from '../testing/run-admin.ts';

const BEARER = { authorization: `Bearer ${TOKEN}` };
const BY = { who: 'test', requestId: null };
const PASSWORD = 'rivers under seven lamps';
const OTHER_PASSWORD = 'a kettle of quiet foxes';

let redisServer: TestRedis;
let redis: Redis;
let folder: TemporaryFolder;
let admin: RunningAdmin;
/** Another replica. */
let second: RunningAdmin;
let access: OpenedAccess;

beforeAll(async () => {
  redisServer = await startRedis();
  redis = createRedis(redisServer.url, 'request');
  await redis.connect();
  folder = await temporaryFolder();
  const env = { GATEWAY_DATA_DIR: folder.path };
  admin = await runAdmin(redisServer.url, env);
  second = await runAdmin(redisServer.url, env);
  access = await openAccess(redis, env);
});
afterAll(async () => {
  await admin.stop();
  await second.stop();
  await access[Symbol.asyncDispose]();
  await folder.close();
  await redis.quit();
  await redisServer.close();
});
beforeEach(async () => {
  await emptyRedis(redis);
  await emptyDatabase(access.database);
  for (const name of ['red', 'blue']) await access.teams.createTeam({ name }, BY);
});

const Reply = z.looseObject({
  id: z.string().default(''),
  link: z.string().default(''),
  role: z.string().nullish(),
  state: z.string().optional(),
  teams: z.array(z.string()).nullish(),
  permissions: z.array(z.string()).optional(),
  data: z.array(z.looseObject({ id: z.string().optional() })).optional(),
  error: z.looseObject({ code: z.string(), message: z.string(), path: z.string().nullable() }).optional(),
});

interface CallOptions {
  readonly body?: unknown;
  readonly cookie?: string;
  readonly headers?: Record<string, string>;
  readonly of?: RunningAdmin;
}

async function call(
  method: string,
  path: string,
  { body, cookie, headers = cookie === undefined ? BEARER : {}, of = admin }: CallOptions = {},
) {
  const response = await fetch(`${of.url}/admin/v1${path}`, {
    method,
    headers: {
      origin: of.url,
      ...(cookie !== undefined && { cookie }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const reply = Reply.parse(await response.json());
  const set = response.headers.get('set-cookie')?.split(';')[0] ?? '';
  return { status: response.status, body: reply, cookie: set };
}

const anyone = (path: string, body: unknown) => call('POST', path, { body, headers: {} });
const tokenOf = (link: string): string => link.split('#')[1] ?? '';
const signIn = (email: string, password: string) => anyone('/session', { email, password });

interface Invited {
  readonly email?: string;
  readonly role?: string;
  readonly teams?: readonly string[];
}

async function invite(invited: Invited = {}, cookie?: string) {
  const body = { email: 'ann@example.com', name: 'Ann', role: 'viewer', ...invited };
  return call('POST', '/people', { body, ...(cookie !== undefined && { cookie }) });
}

/** A person with a password, signed in. */
async function activePerson(
  invited: Invited = {},
): Promise<{ readonly id: string; readonly cookie: string }> {
  const { body } = await invite(invited);
  const accepted = await anyone('/password', { token: tokenOf(body.link), password: PASSWORD });
  expect(accepted.status).toBe(201);
  return { id: body.id, cookie: accepted.cookie };
}

test('an invited person sets a password by a link that works once, is signed in, and signs in again by it', async () => {
  const invited = await invite({ email: ' Ann@Example.com', role: 'team-lead', teams: ['red'] });
  expect(invited.status).toBe(201);
  expect(invited.body).toMatchObject({ state: 'invited', email: 'ann@example.com', lastSignInAt: null });
  expect(invited.body.link).toMatch(/^\/console\/set-password#[\w-]{43}$/);
  const token = tokenOf(invited.body.link);
  expect((await anyone('/password-link', { token })).body).toEqual({
    ...{ id: '', link: '', email: 'ann@example.com', name: 'Ann', isInvitation: true },
  });

  const accepted = await Promise.all(
    [PASSWORD, PASSWORD].map((password) => anyone('/password', { token, password })),
  );
  expect(accepted.map(({ status }) => status).toSorted()).toEqual([201, 401]);
  const { cookie } = accepted.find(({ status }) => status === 201) ?? { cookie: '' };
  expect((await call('GET', '/session', { cookie })).body).toMatchObject({
    ...{ name: 'ann@example.com', method: 'password', role: 'team-lead', teams: ['red'] },
    personId: invited.body.id,
  });
  expect((await anyone('/password-link', { token })).status).toBe(401);

  expect((await signIn('ANN@example.com', PASSWORD)).status).toBe(201);
  const { data } = (await call('GET', '/people')).body;
  expect(data).toMatchObject([{ state: 'active', linkExpiresAt: null, lastSignInAt: expect.any(String) }]);
});

test('every change is in the log, and no token, password or hash is there, in Redis or in the output', async () => {
  const { id } = await activePerson();
  const { body } = await call('POST', `/people/${id}/link`);
  await call('DELETE', `/people/${id}/link`);
  await call('PATCH', `/people/${id}`, { body: { role: 'admin' } });
  await call('POST', `/people/${id}/sign-out`);
  await call('DELETE', `/people/${id}`);
  const audit = await call('GET', '/audit?limit=100');
  const actions = (audit.body.data ?? []).map(({ action }) => action);
  for (const action of [
    'invited',
    'password_set',
    'link_created',
    'link_revoked',
    'changed',
    'signed_out',
    'deleted',
  ])
    expect(actions).toContain(`person.${action}`);
  const keys = await redis.keys('*');
  const strings = await Promise.all(
    keys.map(async (key) => (await redis.type(key)) === 'string' && redis.get(key)),
  );
  const text = JSON.stringify([audit.body, keys, strings, admin.output]);
  for (const secret of [tokenOf(body.link), PASSWORD, 'scrypt']) expect(text).not.toContain(secret);
  const stored = await access.database.read(({ query }) => query('select * from people'));
  expect(JSON.stringify(stored)).not.toContain(tokenOf(body.link));
});

test('an unknown address, a wrong password, an invited and a disabled person are refused alike', async () => {
  const { id } = await activePerson();
  await invite({ email: 'bob@example.com' });
  const answers = [
    await signIn('nobody@example.com', PASSWORD),
    await signIn('ann@example.com', OTHER_PASSWORD),
    await signIn('bob@example.com', PASSWORD),
  ];
  await call('PATCH', `/people/${id}`, { body: { disabled: true } });
  answers.push(await signIn('ann@example.com', PASSWORD));
  for (const answer of answers) {
    expect([answer.status, answer.cookie]).toEqual([401, '']);
    expect(answer.body).toEqual(answers[0]?.body);
  }
});

test('who is disabled, deleted or signed out has no session any more, on every replica; enabled again, none comes back', async () => {
  for (const [method, path, body] of [
    ['PATCH', '', { disabled: true }],
    ['DELETE', '', undefined],
    ['POST', '/sign-out', undefined],
  ] as const) {
    await emptyDatabase(access.database);
    const { id, cookie } = await activePerson();
    expect((await call('GET', '/keys', { cookie, of: second })).status).toBe(200);
    // As if the session were opened at the very moment: what is left in Redis does not count.
    const kept = await redis
      .keys('gateway:session:*')
      .then(([key = '']) => redis.get(key).then((text) => [key, text]));
    expect((await call(method, `/people/${id}${path}`, { ...(body && { body }) })).status).toBe(200);
    expect((await call('GET', '/sessions')).body.data).toEqual([]);
    await redis.set(kept[0] ?? '', kept[1] ?? '');
    if (method === 'PATCH') await call('PATCH', `/people/${id}`, { body: { disabled: false } });
    expect((await call('GET', '/keys', { cookie, of: second })).status).toBe(401);
  }
});

test('another role counts from the next call on', async () => {
  const { id, cookie } = await activePerson({ role: 'admin' });
  expect((await call('GET', '/people', { cookie, of: second })).status).toBe(200);
  await call('PATCH', `/people/${id}`, { body: { role: 'team-member', teams: ['red'] } });
  expect((await call('GET', '/people', { cookie, of: second })).status).toBe(403);
  const own = await call('GET', '/session', { cookie });
  expect(own.body).toMatchObject({ role: 'team-member', teams: ['red'] });
  expect(own.body.permissions).not.toContain('POST /admin/v1/keys');
});

test('after ten attempts from an address even the right password waits there, and nobody else does', async () => {
  await activePerson();
  await activePerson({ email: 'bob@example.com' });
  const wrong = Array.from({ length: 10 }, () => signIn('ann@example.com', OTHER_PASSWORD));
  expect((await Promise.all(wrong)).map(({ status }) => status)).toEqual(Array(10).fill(401));
  const { status, body } = await signIn('ann@example.com', PASSWORD);
  expect([status, body.error?.code]).toEqual([429, 'rate_limited']);
  expect((await signIn('bob@example.com', PASSWORD)).status).toBe(201);
});

test('a new link takes the place of the one before; revoked, expired and used ones do not work', async () => {
  const { body: invited } = await invite();
  const again = await call('POST', `/people/${invited.id}/link`);
  const works = async (link: string) => (await anyone('/password-link', { token: tokenOf(link) })).status;
  expect([await works(invited.link), await works(again.body.link)]).toEqual([401, 200]);
  await call('DELETE', `/people/${invited.id}/link`);
  expect(await works(again.body.link)).toBe(401);
  const late = await call('POST', `/people/${invited.id}/link`);
  const audit = { action: 'person.changed', before: null, after: null } as const;
  await access.people.change(
    invited.id,
    (before) => ({
      next: { ...before, link: before.link && { ...before.link, expiresAtMs: Date.now() } },
      audit,
    }),
    BY,
  );
  expect(await works(late.body.link)).toBe(401);
});

test('a reset ends all sessions, and so does a change of the own password, but for the one that makes it', async () => {
  const { id, cookie } = await activePerson();
  const other = (await signIn('ann@example.com', PASSWORD)).cookie;
  const wrong = { current: OTHER_PASSWORD, password: OTHER_PASSWORD };
  expect((await call('POST', '/session/password', { cookie, body: wrong })).body.error?.path).toBe('current');
  const right = { current: PASSWORD, password: OTHER_PASSWORD };
  const changed = await call('POST', '/session/password', { cookie, body: right });
  const isOpen = async (of: string) => (await call('GET', '/session', { cookie: of })).status === 200;
  expect(await Promise.all([cookie, other, changed.cookie].map(isOpen))).toEqual([false, false, true]);
  expect((await signIn('ann@example.com', PASSWORD)).status).toBe(401);

  const another = (await signIn('ann@example.com', OTHER_PASSWORD)).cookie;
  const alone = await call('DELETE', '/session/others', { cookie: another });
  expect(await Promise.all([changed.cookie, another, alone.cookie].map(isOpen))).toEqual([
    false,
    false,
    true,
  ]);

  const { body } = await call('POST', `/people/${id}/link`);
  expect(await isOpen(alone.cookie)).toBe(true);
  await anyone('/password', { token: tokenOf(body.link), password: PASSWORD });
  expect(await isOpen(alone.cookie)).toBe(false);
});

test('a team lead invites and manages members of the own teams, and gives nobody more than that', async () => {
  const lead = await activePerson({ email: 'lead@example.com', role: 'team-lead', teams: ['red'] });
  const { cookie } = lead;
  const member = await invite({ email: 'm@example.com', role: 'team-member', teams: ['red'] }, cookie);
  expect(member.status).toBe(201);
  for (const granted of [
    { role: 'admin' },
    { role: 'viewer' },
    { role: 'team-lead', teams: ['red'] },
    { role: 'team-member', teams: ['red', 'blue'] },
    { role: 'team-member', teams: [] },
  ]) {
    expect((await invite({ email: 'x@example.com', ...granted }, cookie)).status).toBe(400);
    const patched = await call('PATCH', `/people/${member.body.id}`, {
      cookie,
      body: { teams: [], ...granted },
    });
    expect(patched.status).toBe(400);
  }
  const both = await invite({ email: 'both@example.com', role: 'team-member', teams: ['red', 'blue'] });
  const foreign = await invite({ email: 'blue@example.com', role: 'team-member', teams: ['blue'] });
  const boss = await invite({ email: 'boss@example.com', role: 'admin' });
  const listed = (await call('GET', '/people', { cookie })).body.data ?? [];
  expect(listed.map(({ email, teams }) => [email, teams])).toEqual([
    ['both@example.com', ['red']],
    ['m@example.com', ['red']],
    ['lead@example.com', ['red']],
  ]);
  for (const [id, status] of [
    [both.body.id, 403],
    [lead.id, 403],
    [foreign.body.id, 404],
    [boss.body.id, 404],
  ] as const)
    for (const [method, path] of [
      ['POST', '/link'],
      ['POST', '/sign-out'],
      ['DELETE', ''],
    ] as const)
      expect((await call(method, `/people/${id}${path}`, { cookie })).status).toBe(status);
  expect(
    (await call('PATCH', `/people/${member.body.id}`, { cookie, body: { disabled: true } })).body.state,
  ).toBe('disabled');
  expect((await call('DELETE', `/people/${member.body.id}`, { cookie })).status).toBe(200);
});

test('nobody changes the own role, disables or deletes itself', async () => {
  const { id, cookie } = await activePerson({ role: 'admin' });
  for (const body of [{ role: 'viewer' }, { disabled: true }])
    expect((await call('PATCH', `/people/${id}`, { cookie, body })).status).toBe(409);
  expect((await call('DELETE', `/people/${id}`, { cookie })).status).toBe(409);
  expect((await call('PATCH', `/people/${id}`, { cookie, body: { name: 'Ann Lee' } })).status).toBe(200);
  expect((await call('GET', '/people', { cookie })).status).toBe(200);
});

test.for([
  ['short', 'seven lamps'],
  ['repeated', 'abababababababab'],
  ['common', 'Password123456!'],
  ['of the keyboard', 'qwertyuiop123456'],
  ['mostly the address', 'ann@example.com1'],
] as const)('a password that is %s is refused, and the link still works', async ([, password]) => {
  const { body } = await invite();
  const token = tokenOf(body.link);
  const refused = await anyone('/password', { token, password });
  expect([refused.status, refused.body.error?.path]).toEqual([400, 'password']);
  expect((await anyone('/password', { token, password: PASSWORD })).status).toBe(201);
});

test.for([
  ['an address twice', { email: 'ANN@example.com' }, 409, 'email'],
  ['no address', { email: 'ann' }, 400, 'email'],
  ['an address that looks like another one', { email: 'аnn@example.com' }, 400, 'email'],
  ['a team nobody made', { email: 'b@example.com', role: 'team-lead', teams: ['green'] }, 400, 'teams'],
  ['a team role without a team', { email: 'b@example.com', role: 'team-lead' }, 400, 'teams'],
  ['an admin with a team', { email: 'b@example.com', role: 'admin', teams: ['red'] }, 400, 'teams'],
  ['the role of a key holder', { email: 'b@example.com', role: 'key-holder' }, 400, 'role'],
] as const)('an invitation with %s is refused', async ([, invited, status, path]) => {
  await invite();
  const refused = await invite(invited);
  expect([refused.status, refused.body.error?.path]).toEqual([status, path]);
});

test('pages of other sites set no password', async () => {
  const { body } = await invite();
  const headers = { origin: 'https://elsewhere.example.com' };
  for (const path of ['/password', '/password-link', '/session']) {
    const sent =
      path === '/password-link'
        ? { token: tokenOf(body.link) }
        : { token: tokenOf(body.link), password: PASSWORD };
    const wanted = path === '/session' ? { email: 'ann@example.com', password: PASSWORD } : sent;
    expect((await call('POST', path, { body: wanted, headers })).body.error?.code).toBe('origin_not_allowed');
  }
});

test('what roles may do is told from the table itself', async () => {
  const { cookie } = await activePerson();
  const reply = await fetch(`${admin.url}/admin/v1/roles`, { headers: { cookie } });
  const Roles = z.object({
    roles: z.array(z.object({ name: z.string(), about: z.string(), sees: z.string() })),
    calls: z.array(z.object({ method: z.string(), path: z.string(), roles: z.array(z.string()) })),
  });
  const { roles, calls } = Roles.parse(await reply.json());
  expect(roles.map(({ name }) => name)).toEqual([
    'admin',
    'viewer',
    'team-lead',
    'team-member',
    'key-holder',
  ]);
  const own = (await call('GET', '/session', { cookie })).body.permissions ?? [];
  const viewers = calls
    .filter((one) => one.roles.length === 0 || one.roles.includes('viewer'))
    .map(({ method, path }) => `${method} ${path}`);
  // The description of the calls is not one of those that it describes.
  const described = own.filter((one) => !one.endsWith('/openapi.json'));
  expect(viewers.toSorted()).toEqual(described.toSorted());
});
