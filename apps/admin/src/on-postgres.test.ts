import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { createLedger } from '@gateway/metering/ledger/ledger';
import { emptyRedis, keysInRedis } from '@gateway/metering/testing/records-in-redis';
import { createRedis } from '@gateway/redis/open-redis';
import { startPostgres } from '@gateway/testkit/start-postgres';
import { startRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import { expect, onTestFinished, test } from 'vitest';
import { KeyPage, NewKeyReply, TeamPage } from './api/schemas/access.ts';
import { AuditPage } from './api/schemas/operations.ts';
import { UsagePage } from './api/schemas/traffic.ts';
import { RequestPage } from './requests/shown-request.ts';
import { GATEWAY_SECRET, runAdmin, TOKEN } from './testing/run-admin.ts';

const REQUESTS = 25;

/** An empty PostgreSQL and a Redis, and what starts an admin service on them. */
async function startBoth() {
  const resources = new AsyncDisposableStack();
  onTestFinished(() => resources.disposeAsync());
  const postgres = resources.use(await startPostgres());
  const server = resources.adopt(await startRedis(), (owned) => owned.close());
  const redis = resources.adopt(createRedis(server.url, 'request'), (owned) => owned.disconnect());
  await redis.connect();
  await emptyRedis(redis);
  const startAdmin = async () => {
    const started = await runAdmin(server.url, { DATABASE_URL: postgres.url });
    const admin = resources.adopt(started, (owned) => owned.stop());
    const call = (method: string, path: string, body?: object) =>
      fetch(`${admin.url}/admin/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
    const get = async (path: string): Promise<unknown> => (await call('GET', path)).json();
    return { call, get };
  };
  return { postgres, redis, startAdmin };
}

test('on a PostgreSQL every page works, also one in whose middle it is started again', async () => {
  const { postgres, redis, startAdmin } = await startBoth();
  const { call, get } = await startAdmin();

  expect((await call('POST', '/teams', { name: 'search' })).status).toBe(201);
  const made = NewKeyReply.parse(await (await call('POST', '/keys', { name: 'one', team: 'search' })).json());
  const ledger = createLedger({ redis, now: Date.now, keepRecordsDays: 30 });
  const ids: string[] = [];
  for (let n = 0; n < REQUESTS; n += 1) {
    const id = `req_${n}`;
    ids.unshift(id);
    await ledger.settle(
      {
        ...{ id, requestId: id, keyId: made.id, team: 'search', endpoint: 'responses', model: 'gpt-5' },
        startedAtMs: Date.now(),
      },
      {
        ...{ outcome: 'ok', channel: 'openai', attempts: 1, durationMs: 900, firstByteMs: 412 },
        ...{ consumption: NOTHING_CONSUMED, estimated: false, costMicroUsd: 10 },
      },
    );
  }
  expect(TeamPage.parse(await get('/teams')).data.map(({ name }) => name)).toEqual(['search']);
  expect(KeyPage.parse(await get('/keys?search=one')).data.map(({ id }) => id)).toEqual([made.id]);
  expect(AuditPage.parse(await get('/audit?action=key.created')).data).toHaveLength(1);
  const usage = () => get('/usage?groupBy=keyId,model').then((page) => UsagePage.parse(page).data);
  await waitFor(async () => {
    expect(await usage()).toMatchObject([{ requests: REQUESTS, costMicroUsd: 10 * REQUESTS }]);
    return true;
  });

  const first = RequestPage.parse(await get('/requests?limit=10'));
  await postgres.kill();
  const meanwhile = await call('GET', `/requests?limit=10&cursor=${first.next}`);
  expect([meanwhile.status, meanwhile.headers.get('retry-after')]).toEqual([503, '5']);
  expect(await meanwhile.text()).toContain('The database does not answer at the moment.');
  const refused = await call('POST', '/keys', { name: 'two' });
  expect(refused.status).toBe(503);
  await postgres.restart();
  const seen = [...first.data];
  for (let next = first.next; next !== null; ) {
    const from = next;
    const page = await waitFor(async () => RequestPage.parse(await get(`/requests?limit=10&cursor=${from}`)));
    seen.push(...page.data);
    next = page.next;
  }
  expect(seen.map(({ id }) => id)).toEqual(ids);
  expect(await usage()).toMatchObject([{ requests: REQUESTS, costMicroUsd: 10 * REQUESTS }]);
  expect((await call('DELETE', `/keys/${made.id}`)).ok).toBe(true);
  expect(KeyPage.parse(await get('/keys')).data.map(({ id }) => id)).toEqual([made.id]);
});

test('two admin services on a PostgreSQL make and change keys at the same time, and both show what the other did', async () => {
  const { redis, startAdmin } = await startBoth();
  const [one, other] = [await startAdmin(), await startAdmin()];
  const names = Array.from({ length: 20 }, (_, n) => `key ${n}`);
  const made = await Promise.all(
    names.map(async (name, n) =>
      NewKeyReply.parse(await (await (n % 2 === 0 ? one : other).call('POST', '/keys', { name })).json()),
    ),
  );
  const [changed, gone] = made;
  const labels = Array.from({ length: 10 }, (_, n) => `label${n}`);
  const patches = await Promise.all(
    labels.map((label, n) =>
      (n % 2 === 0 ? one : other).call('PATCH', `/keys/${changed?.id}`, { labels: { [label]: 'set' } }),
    ),
  );
  expect(patches.map(({ status }) => status)).toEqual(labels.map(() => 200));
  expect((await other.call('DELETE', `/keys/${gone?.id}`)).status).toBe(200);

  const keysOf = async ({ get }: typeof one) => KeyPage.parse(await get('/keys?limit=100')).data;
  const [shown, same] = [await keysOf(one), await keysOf(other)];
  expect(shown).toEqual(same);
  expect(shown.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  const find = (id: string | undefined) => shown.find((key) => key.id === id);
  expect(Object.keys(find(changed?.id)?.labels ?? {}).toSorted()).toEqual(labels);
  expect(find(gone?.id)?.revokedAt).not.toBeNull();
  const entries = AuditPage.parse(await one.get('/audit?limit=100')).data;
  const count = (action: string) => entries.filter((entry) => entry.action === action).length;
  expect([count('key.created'), count('key.changed'), count('key.revoked')]).toEqual([20, 10, 1]);
  // What edges look up says the same.
  const known = await Promise.all(
    made.map(({ key }) => keysInRedis({ redis, gatewaySecret: GATEWAY_SECRET }).findKey(key)),
  );
  expect(known.map((found) => found?.identity.keyId)).toEqual(
    made.map(({ id }) => (id === gone?.id ? undefined : id)),
  );
});
