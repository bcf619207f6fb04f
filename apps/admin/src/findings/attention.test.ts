import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { QUEUE_PREFIX } from '@gateway/jobs/redis/job-keys';
import { createLedger } from '@gateway/metering/ledger/ledger';
import { emptyRedis } from '@gateway/metering/testing/records-in-redis';
import { emptyDatabase } from '@gateway/records/testing/empty-database';
import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { type TemporaryFolder, temporaryFolder } from '@gateway/testkit/temporary-folder';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { AttentionPage } from '../routes/operations/attention-routes.ts';
import { openAccess } from '../testing/open-access.ts';
import { runAdmin, TOKEN } from '../testing/run-admin.ts';

let redisServer: TestRedis;
let redis: Redis;
let folder: TemporaryFolder;

beforeAll(async () => {
  redisServer = await startRedis();
  redis = createRedis(redisServer.url, 'request');
  await redis.connect();
  folder = await temporaryFolder();
});
afterAll(async () => {
  await redis.quit();
  await redisServer.close();
  await folder.close();
});
beforeEach(async () => {
  await emptyRedis(redis);
  await using access = await openAccess(redis, { GATEWAY_DATA_DIR: folder.path });
  await emptyDatabase(access.database);
});

const CONFIGURATION = `channels:
  one: { provider: openai, apiKey: some-key }
models:
  gpt-5: { kind: text, routes: [{ channel: one }] }
`;

/** What an admin service that has just been started finds. */
async function attention(configuration: string, before?: (url: string) => Promise<unknown>) {
  const path = join(folder.path, 'gateway.yaml');
  await writeFile(path, CONFIGURATION);
  const admin = await runAdmin(redisServer.url, { GATEWAY_CONFIG: path, GATEWAY_DATA_DIR: folder.path });
  try {
    await before?.(admin.url);
    await writeFile(path, configuration);
    const headers = { authorization: `Bearer ${TOKEN}` };
    const response = await fetch(`${admin.url}/admin/v1/attention`, { headers });
    return AttentionPage.parse(await response.json()).data;
  } finally {
    await admin.stop();
  }
}

test('where all is well nothing needs a person', async () => {
  expect(await attention(CONFIGURATION)).toEqual([]);
});

test('what needs a person is told, the urgent first', async () => {
  const nowMs = Date.now();
  await using access = await openAccess(redis, { GATEWAY_DATA_DIR: folder.path });
  const { keys, teams } = access;
  const by = { who: 'test', requestId: null };
  const budget = { usd: 1, period: 'total' as const };
  const near = (await keys.createKey({ name: 'near', budget }, by)).record;
  const spent = (await keys.createKey({ name: 'spent', budget }, by)).record;
  const revoked = (await keys.createKey({ name: 'revoked', budget }, by)).record;
  await keys.createKey({ name: 'fresh', budget }, by);
  await keys.revokeKey(revoked.id, by);
  await teams.createTeam({ name: 'search', budget }, by);
  const ledger = createLedger({ redis, now: Date.now, keepRecordsDays: 30 });
  const spend = async (owner: string, microUsd: number | null, model = 'gpt-5') => {
    const subject = {
      ...{ id: `req_${owner}_${model}`, keyId: owner, team: null, endpoint: 'responses', model },
      startedAtMs: nowMs,
    };
    const result = {
      ...{ outcome: 'ok' as const, channel: 'one', attempts: 1, durationMs: 1, firstByteMs: null },
      ...{ consumption: NOTHING_CONSUMED, estimated: false, costMicroUsd: microUsd },
    };
    const charge = {
      kind: 'budget',
      owner,
      dimension: 'microUsd',
      period: 'total',
      timeZone: 'UTC',
      limit: 1e9,
    } as const;
    await ledger.reserve({ subject, estimate: result, charges: [charge], leaseMs: 60_000 });
    await ledger.settle(subject, result);
  };
  await spend(near.id, 850_000);
  await spend(spent.id, 1_000_000);
  await spend(revoked.id, 1_000_000);
  await spend('team:search', 999_999);
  await spend('key_other', null, 'odd-model');
  const queue = new Queue('image', { connection: redis, prefix: QUEUE_PREFIX });
  await queue.add('image.generation', {}, { timestamp: nowMs - 120_000, priority: 3 });
  await queue.add('image.generation', {}, { timestamp: nowMs - 10_000, priority: 1 });
  const items = await attention(CONFIGURATION.replace('channel: one', 'channel: oen'), async (url) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ reason: 'maintenance', seconds: 600 });
    await fetch(`${url}/admin/v1/channels/one/rest`, { method: 'POST', headers, body });
    const queues = await (await fetch(`${url}/admin/v1/queues`, { headers })).json();
    const oldestQueuedAt = new Date(nowMs - 120_000).toISOString();
    expect(queues).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ queue: 'image', oldestQueuedAt })]),
    });
  });
  await queue.close();
  expect(items.map(({ kind, subject, isUrgent }) => [kind, subject, isUrgent])).toEqual(
    expect.arrayContaining([
      ['configuration_invalid', join(folder.path, 'gateway.yaml'), true],
      ['budget_spent', spent.id, true],
      ['budget_near', near.id, false],
      ['budget_near', 'search', false],
      ['channel_resting', 'one', false],
      ['unpriced_model', 'odd-model', false],
      ['queue_waiting', 'image', false],
    ]),
  );
  expect(items).toHaveLength(7);
  expect(items.slice(0, 2).every(({ isUrgent }) => isUrgent)).toBe(true);
  const sentences = items.map(({ sentence }) => sentence).join('\n');
  expect(sentences).toContain('in line 4');
  expect(sentences).toContain('maintenance');
  expect(sentences).toContain("99% of the budget of the team 'search'");
  // Times are members, which each reader's program shows in that person's zone.
  expect(sentences).not.toMatch(/\d{4}-\d{2}-\d{2}T/);
  const rest = items.find(({ kind }) => kind === 'channel_resting');
  expect(Date.parse(rest?.until ?? '') - Date.parse(rest?.since ?? '')).toBe(600_000);
});
