import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { NOTHING_CONSUMED, type UsageResult } from '@gateway/contracts/usage/usage-record';
import { createLedger } from '@gateway/metering/ledger/ledger';
import { requestIdOf } from '@gateway/service-kit/request/request-id';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { TOKEN } from '../testing/run-admin.ts';
import { cookieOf, type Person, useAdmin } from '../testing/use-admin.ts';

const admin = useAdmin({
  configuration: `channels:
  one: { provider: openai, apiKey: some-key }
models:
  gpt-5: { kind: text, routes: [{ channel: one }] }
contentLog: { readers: [team-lead], rules: [{}] }
`,
});

const OBJECT = '2026-11-27_02_deadbeef_1.gz';
const lineOf = (id: string, text: string): string =>
  JSON.stringify({
    ...{
      version: 1,
      id,
      requestId: `caller-${id}`,
      at: '2026-11-27T02:15:00.000Z',
      keyId: 'key_a',
      team: 'red',
    },
    ...{ endpoint: 'chat', model: 'gpt-5', channel: 'one', redacted: { email: 2 } },
    request: { messages: [{ role: 'user', content: text }] },
    answer: { choices: [] },
  });

/** Has a log with these lines, and their usage records. */
async function logged(
  ids: readonly string[],
  folder = 'content',
  object = OBJECT,
  session = '',
): Promise<void> {
  const lines = ids.map((id) => `${lineOf(id, `asked by ${id} {"version":1,"id":"${ids[1]}",`)}\n`).join('');
  await mkdir(join(admin.dataFolder, folder), { recursive: true });
  const [name, bytes] =
    folder === 'content' ? [object, gzipSync(lines)] : [object.replace('.gz', '.jsonl'), Buffer.from(lines)];
  await writeFile(join(admin.dataFolder, folder, name), bytes);
  for (const id of ids) await settle(id, { contentObject: object }, { session });
}

const settle = (
  id: string,
  detail: UsageResult['detail'],
  { team = 'red', keyId = 'key_a', session = '' } = {},
) =>
  createLedger({ redis: admin.redis, now: Date.now, keepRecordsDays: 30 }).settle(
    {
      id,
      keyId,
      team,
      ...(session !== '' && { session }),
      endpoint: 'chat',
      model: 'gpt-5',
      startedAtMs: Date.now(),
      requestId: `caller-${id}`,
    },
    {
      ...{ outcome: 'ok', channel: 'one', attempts: 1, durationMs: 900, firstByteMs: 412 },
      ...{ consumption: NOTHING_CONSUMED, estimated: false, costMicroUsd: 0, detail },
    },
  );

const call = (path: string, init: RequestInit & { person?: Person } = {}) =>
  send(path, init).then(async (reply) => ({
    status: reply.status,
    headers: reply.headers,
    body: await reply.json(),
  }));
async function send(path: string, { person, ...init }: RequestInit & { person?: Person }): Promise<Response> {
  const headers =
    person === undefined
      ? { authorization: `Bearer ${TOKEN}`, 'x-gateway-actor': 'ann' }
      : { cookie: await cookieOf(admin.redis, person), origin: admin.url };
  return fetch(`${admin.url}/admin/v1${path}`, { ...init, headers });
}

const Audit = z.object({ data: z.array(z.looseObject({ action: z.string(), subject: z.string() })) });
const contentEntries = async () =>
  Audit.parse((await call('/audit')).body).data.filter(({ action }) => action.startsWith('content.'));

const ids = (count: number) => Array.from({ length: count }, () => requestIdOf(undefined));
const LEAD: Person = { role: 'team-lead', scope: { kind: 'teams', teams: ['red'] } };

test('the content of a request is read by its id, never cached, and the reading stands in the audit log', async () => {
  const [one = '', two = ''] = ids(2);
  await logged([one, two]);
  expect((await call(`/requests/${two}`)).body).toMatchObject({ content: 'logged' });
  expect(await contentEntries()).toEqual([]);
  const { status, headers, body } = await call(`/requests/caller-${two}/content`);
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(body).toMatchObject({
    id: two,
    redacted: { email: 2 },
    request: { messages: [{ content: expect.stringContaining(`asked by ${two}`) }] },
  });
  expect(await contentEntries()).toMatchObject([
    {
      action: 'content.read',
      subject: two,
      who: 'ann',
      after: { team: 'red', keyId: 'key_a', model: 'gpt-5' },
    },
  ]);
});

test('a line that has yet to be brought to the store is read where it waits', async () => {
  const [one = '', two = ''] = ids(2);
  await logged([one, two], 'content-spool', '2026-11-27_03_deadbeef_9.gz');
  expect((await call(`/requests/${one}/content`)).status).toBe(200);
});

test('roles read it that the configuration names, of their own teams', async () => {
  const [one = '', two = ''] = ids(2);
  await logged([one, two]);
  const path = `/requests/${one}/content`;
  expect((await call(path, { person: LEAD })).status).toBe(200);
  const other: Person = { role: 'team-lead', scope: { kind: 'teams', teams: ['blue'] } };
  expect((await call(path, { person: other })).status).toBe(404);
  const refused = await call(path, { person: { role: 'viewer', scope: { kind: 'all' } } });
  expect([refused.status, refused.body]).toMatchObject([
    403,
    { error: { code: 'endpoint_not_allowed', message: expect.stringContaining('contentLog.readers') } },
  ]);
  expect(await contentEntries()).toHaveLength(1);
});

test.for([
  ['off', {}, 'no rule'],
  ['share', { contentOmitted: 'share' }, 'share'],
  ['caller', { contentOmitted: 'caller' }, 'opted out'],
  ['logged', { contentObject: 'gone.gz' }, 'expired'],
] as const)('of a request that has no content it is said why: %s', async ([content, detail, reason]) => {
  const [id = ''] = ids(1);
  await settle(id, detail);
  expect((await call(`/requests/${id}`)).body).toMatchObject({ content });
  const { status, body } = await call(`/requests/${id}/content`);
  expect([status, body]).toMatchObject([404, { error: { message: expect.stringContaining(reason) } }]);
  expect(await contentEntries()).toEqual([]);
});

test('an admin deletes the content of one request; that of others stays', async () => {
  const [one = '', two = ''] = ids(2);
  await logged([one, two]);
  const path = `/requests/${one}/content`;
  expect((await call(path, { method: 'DELETE', person: LEAD })).status).toBe(403);
  expect(await call(path, { method: 'DELETE' })).toMatchObject({
    status: 200,
    body: { id: one, deleted: 1 },
  });
  expect((await call(path)).status).toBe(404);
  expect((await call(`/requests/${two}/content`)).status).toBe(200);
  expect(await contentEntries()).toMatchObject([
    { action: 'content.read' },
    { action: 'content.deleted', subject: one },
  ]);
});

test('what is deleted on its way to its object is said to be, and is not read any more', async () => {
  const [one = ''] = ids(1);
  await logged([one], 'content-spool', '2026-11-27_03_deadbeef_11.gz');
  const path = `/requests/${one}/content`;
  expect(await call(path, { method: 'DELETE' })).toMatchObject({ status: 200, body: { deleted: 1 } });
  expect((await call(path)).status).toBe(404);
  expect((await call(path, { method: 'DELETE' })).status).toBe(404);
});

const conversationOf = (body: unknown) =>
  z
    .object({
      session: z.string(),
      hasEarlier: z.boolean(),
      turns: z.array(z.object({ id: z.string(), content: z.object({ id: z.string() }).nullable() })),
    })
    .parse(body);

test('the requests of a session are read together, in their order, and one entry names what was read', async () => {
  const session = 'session-of-a-customer';
  const [one = '', two = '', three = '', unlogged = '', others = '', ofTeam = ''] = ids(6);
  await logged([one, two], 'content', OBJECT, session);
  await logged([three], 'content', '2026-11-27_04_deadbeef_2.gz', session);
  await settle(unlogged, { contentOmitted: 'share' }, { session });
  await settle(others, { contentObject: OBJECT }, { session, keyId: 'key_b' });
  await settle(ofTeam, { contentObject: OBJECT }, { session, team: 'blue' });
  const path = `/requests/${two}/conversation`;
  const { status, headers, body } = await call(path, { person: LEAD });
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  const shown = conversationOf(body);
  expect(shown).toMatchObject({ session, hasEarlier: false });
  expect(shown.turns.map(({ id, content }) => [id, content?.id])).toEqual([
    [one, one],
    [two, two],
    [three, three],
    [unlogged, undefined],
  ]);
  expect(await contentEntries()).toMatchObject([
    { action: 'content.read', subject: two, after: { session, requests: [three, two, one].toReversed() } },
  ]);
  const viewer: Person = { role: 'viewer', scope: { kind: 'all' } };
  expect((await call(path, { person: viewer })).status).toBe(403);
  expect(await contentEntries()).toHaveLength(1);
});

test('of a long session the newest requests are shown, and that there are earlier ones', async () => {
  const many = ids(52);
  await logged(many, 'content', OBJECT, 'long');
  const shown = conversationOf((await call(`/requests/${many[0]}/conversation`)).body);
  expect(shown.hasEarlier).toBe(true);
  expect(shown.turns.map(({ id }) => id)).toEqual(many.slice(-50));
});

test('a request without a session has no conversation, and it is said how to name one', async () => {
  const [one = ''] = ids(1);
  await logged([one]);
  const { status, body } = await call(`/requests/${one}/conversation`);
  expect([status, body]).toMatchObject([
    404,
    { error: { message: expect.stringContaining('x-gateway-session') } },
  ]);
});
