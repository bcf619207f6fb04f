import type { Account, Identity } from '@gateway/contracts/identity';
import { NOTHING_CONSUMED, type UsageResult } from '@gateway/contracts/usage/usage-record';
import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createOperationBatch } from '../batch/operation-batch.ts';
import { createLedger, type Ledger } from '../ledger/ledger.ts';
import { redisNames } from '../redis-names.ts';
import { emptyRedis } from '../testing/records-in-redis.ts';
import { type Admission, createAdmission } from './admission.ts';
import { createRequestEntry, type Entered, type PendingEntry, type RequestEntry } from './request-entry.ts';

/** Requests that are counted in one step with what they reserve, by one of two replicas. */

let server: TestRedis;
let redis: Redis;
const connections: Redis[] = [];
const admissions: Admission[] = [];
let uptimeMs = 0;
/** A fixed time: no bucket refills between two requests. */
const clockUs = Date.now() * 1000;

interface Replica {
  readonly entry: RequestEntry;
  readonly ledger: Ledger;
}

beforeAll(async () => {
  server = await startRedis();
  redis = createRedis(server.url, 'request');
  await redis.connect();
});
afterAll(async () => {
  await Promise.all(admissions.map((admission) => admission.close()));
  for (const connection of [redis, ...connections]) connection.disconnect();
  await server.close();
});
beforeEach(() => emptyRedis(redis));

async function startReplica(): Promise<Replica> {
  const connection = createRedis(server.url, 'request');
  await connection.connect();
  const clock = () => clockUs;
  const batch = createOperationBatch({ redis: connection, clock });
  const admission = createAdmission({ redis: connection, clock, batch });
  connections.push(connection);
  admissions.push(admission);
  return {
    entry: createRequestEntry({ admission, now: Date.now, uptime: () => uptimeMs }),
    ledger: createLedger({
      redis: connection,
      now: Date.now,
      keepRecordsDays: 1,
      clock,
      batch,
    }),
  };
}

const identity = (limits: Account['limits']): Identity => ({
  keyId: 'key_1',
  keyName: 'one',
  team: null,
  models: null,
  endpoints: null,
  accounts: [{ owner: 'key_1', limits, budget: null }],
});

const estimate: UsageResult = {
  outcome: 'ok',
  channel: null,
  attempts: 0,
  durationMs: 0,
  firstByteMs: null,
  consumption: { ...NOTHING_CONSUMED, outputTokens: 10 },
  estimated: true,
  costMicroUsd: 10,
};
let nextId = 0;
const reservation = (limit: number) => {
  nextId += 1;
  const id = `req_${nextId}`;
  return {
    subject: { id, keyId: 'key_1', team: null, endpoint: 'responses', model: 'm', startedAtMs: Date.now() },
    estimate,
    charges: [{ kind: 'rate', owner: 'key_1', dimension: 'tokens', model: null, limit }],
    leaseMs: 60_000,
  } as const;
};

interface Opened {
  readonly pending: PendingEntry;
  /** How it went in; empty before. */
  readonly entered: readonly Entered[];
}

type Delivery = Parameters<RequestEntry['open']>[2]['delivery'];

function open({ entry }: Replica, limits: Account['limits'], delivery: Delivery = null): Opened {
  const entered: Entered[] = [];
  const pending = entry.open(identity(limits), 'openai', { delivery, onEntered: (one) => entered.push(one) });
  if (pending === undefined) throw new Error('no limit applies');
  return { pending, entered };
}

const enter = ({ ledger }: Replica, { pending }: Opened, tokensPerMinute = 1000) =>
  pending.count((admission) => ledger.enter(admission, reservation(tokensPerMinute)));

const slotsTaken = () => redis.zcard(redisNames.slots('key_1'));
const reservations = () => redis.zcard(redisNames.openReservations);
const scripts = async () => {
  const text = await redis.info('commandstats');
  return ['eval', 'evalsha'].reduce(
    (sum, name) => sum + Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(text)?.[1] ?? 0),
    0,
  );
};

test('a request is counted and reserves in one call of Redis', async () => {
  const replica = await startReplica();
  await enter(replica, open(replica, { requestsPerMinute: 10 }));
  const before = await scripts();
  const second = open(replica, { requestsPerMinute: 10, concurrentRequests: 2 });
  const { reserved } = await enter(replica, second);
  expect((await scripts()) - before).toBe(1);
  expect(reserved).toEqual({ ok: true, remaining: [980] });
  expect(second.entered).toMatchObject([{ refusal: null }]);
  expect(second.entered[0]?.headers).toContainEqual(['x-ratelimit-remaining-requests', '8']);
  expect(await slotsTaken()).toBe(1);
});

test('a request that its limit on requests refuses reserves nothing', async () => {
  const replica = await startReplica();
  await enter(replica, open(replica, { concurrentRequests: 1 }));
  const refused = open(replica, { concurrentRequests: 1 });
  await expect(enter(replica, refused)).rejects.toMatchObject({ code: 'rate_limited' });
  expect(refused.entered).toMatchObject([{ refusal: { reason: 'concurrent_requests' } }]);
  expect(await reservations()).toBe(1);
});

test('a request that cannot reserve has been counted all the same', async () => {
  const replica = await startReplica();
  const { reserved } = await enter(replica, open(replica, { requestsPerMinute: 2 }), 5);
  expect(reserved).toMatchObject({ ok: false });
  const next = open(replica, { requestsPerMinute: 2 });
  await next.pending.countAlone();
  expect(next.entered[0]?.headers).toContainEqual(['x-ratelimit-remaining-requests', '0']);
});

test('a request that is delivered again, to another replica, counts once and has one slot', async () => {
  const limits = { requestsPerMinute: 10, concurrentRequests: 1 };
  const [first, second] = [await startReplica(), await startReplica()];
  await enter(first, open(first, limits, { id: 'delivery', isSecond: false }));
  const again = open(second, limits, { id: 'delivery', isSecond: true });
  await enter(second, again);
  expect(again.entered[0]?.headers).toContainEqual(['x-ratelimit-remaining-requests', '9']);
  expect(await slotsTaken()).toBe(1);
  const other = open(second, limits);
  await expect(enter(second, other)).rejects.toMatchObject({ code: 'rate_limited' });
  again.entered[0]?.release();
  await enter(second, open(second, limits));
});

test('one that never reached the first replica is counted by the second', async () => {
  const limits = { requestsPerMinute: 10, concurrentRequests: 1 };
  const replica = await startReplica();
  const again = open(replica, limits, { id: 'delivery', isSecond: true });
  await enter(replica, again);
  expect(again.entered[0]?.headers).toContainEqual(['x-ratelimit-remaining-requests', '9']);
  expect(await slotsTaken()).toBe(1);
});

test('a limit that is reached refuses without Redis until the wait is over; a changed one is looked up', async () => {
  const replica = await startReplica();
  await open(replica, { requestsPerMinute: 1 }).pending.countAlone();
  await expect(open(replica, { requestsPerMinute: 1 }).pending.countAlone()).rejects.toMatchObject({
    options: { retryAfterSeconds: 60 },
  });
  const before = await scripts();
  uptimeMs += 59_000;
  expect(() => open(replica, { requestsPerMinute: 1 })).toThrow(
    expect.objectContaining({
      code: 'rate_limited',
      options: expect.objectContaining({ retryAfterSeconds: 1 }),
    }),
  );
  expect(await replica.entry.enter(identity({ requestsPerMinute: 1 }), 'openai')).toMatchObject({
    refusal: { reason: 'requests_per_minute' },
  });
  expect(await scripts()).toBe(before);
  await expect(open(replica, { requestsPerMinute: 2 }).pending.countAlone()).rejects.toThrow('Limit 2');
  expect(await scripts()).toBe(before + 1);
  uptimeMs += 1000;
  open(replica, { requestsPerMinute: 1 });
});

test('a slot is free again where Redis did not answer whether it was taken', async () => {
  const replica = await startReplica();
  const pending = open(replica, { concurrentRequests: 1 });
  const lost = pending.pending.count(async (admission) => {
    await replica.ledger.enter(admission, reservation(1000));
    throw new Error('the answer was lost');
  });
  await expect(lost).rejects.toThrow('the answer was lost');
  await enter(replica, open(replica, { concurrentRequests: 1 }));
});
