import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { waitFor } from '@gateway/testkit/wait-for';
import type { AlertsEntry } from '@gateway/upstream/configuration/alerts-entry';
import { buildAlerts } from '@gateway/upstream/configuration/build/build-alerts';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Found, found } from '../findings/finding.ts';
import { createAlertRounds } from './alert-rounds.ts';
import { createAlertStore } from './alert-store.ts';
import {
  createDeliveryQueue,
  createDeliveryWorker,
  type DeliveryQueue,
  retryDelayMs,
} from './delivery-queue.ts';
import type { Delivery, Message } from './message.ts';
import type { SendOutcome } from './send-message.ts';

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = createRedis(server.url, 'request');
  await redis.connect();
});
afterAll(async () => {
  redis.disconnect();
  await server.close();
});
beforeEach(() => redis.flushall());

const finding = (subject: string): Found =>
  found({ kind: 'channel_resting', subject, sentence: `${subject} rests.`, advice: 'Wake it.' });
const AWAY = found({
  ...{ kind: 'redis_away', subject: 'redis', sentence: 'Redis does not answer.', advice: 'Check it.' },
  ...{ since: '2026-11-26T11:00:00.000Z', isUrgent: true },
});

const alertsOf = (entry: Partial<AlertsEntry> = {}) =>
  buildAlerts(
    {
      receivers: { ops: { type: 'slack', url: 'https://hooks.example.com/a' } },
      rules: [{ receivers: ['ops'], afterSeconds: 0 }],
      groupSeconds: 0,
      ...entry,
    },
    () => [],
  );

const summary = (message: Message): string =>
  message.type === 'alert'
    ? (['opened', 'continuing', 'resolved'] as const)
        .flatMap((which, at) => message[which].findings.map(({ subject }) => `${'+~-'[at]}${subject}`))
        .join(' ')
    : message.type;

interface ServiceOptions {
  /** What happens in place of adding to the queue. */
  readonly add?: DeliveryQueue['add'];
  readonly entry?: Partial<AlertsEntry>;
  readonly sums?: () => Promise<never[]>;
}

let nowMs = Date.parse('2026-11-26T12:00:00Z');

/** The alerts of one of several admin services. */
function service(holder: string, { add, entry, sums = async () => [] }: ServiceOptions = {}) {
  const queue = createDeliveryQueue(redis, () => undefined);
  const sentNow: string[] = [];
  const rounds = createAlertRounds({
    readFindings: async () => ({ all: now.all, unknown: new Set() }),
    usage: { sums },
    store: createAlertStore(redis, holder),
    queue: { add: add ?? queue.add },
    sendNow: async (receiver, message) => {
      sentNow.push(`${receiver}: ${summary(message)}`);
    },
    ...{ timeZone: 'UTC', now: () => nowMs, everyMs: 1000 },
  });
  return {
    sentNow,
    round: (all: readonly Found[]) => {
      now.all = all;
      return rounds.round(alertsOf(entry));
    },
    close: rounds.close,
    queued: async () => (await queue.list(50)).map(({ message }) => summary(message)).toReversed(),
  };
}
const now: { all: readonly Found[] } = { all: [] };
const later = (ms: number) => {
  nowMs += ms;
};

test('of several admin services one sends, and another goes on where it has stopped', async () => {
  const [one, two] = [service('one'), service('two')];
  await one.round([finding('a')]);
  await two.round([finding('a')]);
  expect(await two.queued()).toEqual(['+a']);
  await one.close();
  await two.round([finding('a')]);
  await two.round([finding('a'), finding('b')]);
  expect(await two.queued()).toEqual(['+a', '+b']);
  await two.close();
});

test('an alert that was decided and not queued before its service died is queued by the next, once', async () => {
  const dying = service('dying', { add: () => Promise.reject(new Error('killed')) });
  await expect(dying.round([finding('a')])).rejects.toThrow('killed');
  await redis.del('gateway:{alerts}:lease');
  const next = service('next');
  await next.round([finding('a')]);
  await next.round([finding('a')]);
  expect(await next.queued()).toEqual(['+a']);
  await next.close();
});

test('a service that has lost its lease meanwhile writes nothing', async () => {
  const store = createAlertStore(redis, 'slow');
  expect(await store.hold()).toBe(true);
  await redis.set('gateway:{alerts}:lease', 'another');
  expect(await store.write({ ...(await store.read()), reportedOn: '2026-11-23' })).toBe(false);
  expect(await store.hold()).toBe(false);
  await store.release();
  expect(await redis.get('gateway:{alerts}:lease')).toBe('another');
  expect((await store.read()).reportedOn).toBeNull();
});

test('while Redis is away the service that sends says so once, and once that it is back', async () => {
  const [one, two] = [service('one'), service('two')];
  await one.round([]);
  await two.round([]);
  for (let at = 0; at < 3; at += 1) for (const each of [one, two]) await each.round([AWAY]);
  expect([one.sentNow, two.sentNow]).toEqual([['ops: +redis'], []]);
  for (const each of [one, two]) await each.round([]);
  for (const each of [one, two]) await each.round([]);
  expect([one.sentNow, two.sentNow]).toEqual([['ops: +redis', 'ops: -redis'], []]);
  await one.close();
});

test('the weekly report is sent once, when it is due, and once usage can be read', async () => {
  const entry = { rules: [], weeklyReport: { receivers: ['ops'], day: 'friday' as const, at: '08:00' } };
  nowMs = Date.parse('2026-11-26T12:00:00Z');
  let isAway = true;
  const reporting = service('reporting', {
    entry,
    sums: async () => {
      if (isAway) throw new Error('the database is away');
      return [];
    },
  });
  await reporting.round([]);
  later(21 * 3_600_000);
  await reporting.round([]);
  expect(await reporting.queued()).toEqual([]);
  isAway = false;
  await reporting.round([]);
  await reporting.round([]);
  expect(await reporting.queued()).toEqual(['report']);
  await reporting.close();
});

test.for([
  [1, 0, 5000],
  [2, 0, 30_000],
  [9, 0, 30_000],
  [1, 20_000, 20_000],
  [2, 20_000, 30_000],
  [1, 86_400_000, 3_600_000],
] as const)(
  'after %i attempts a receiver that asks for %i ms gets the next one after %i ms',
  ([made, wanted, ms]) => {
    expect(retryDelayMs(made, [5000, 30_000], wanted)).toBe(ms);
  },
);

test('a message is tried again until its receiver takes it', async () => {
  const outcomes: SendOutcome[] = [
    { status: 429, error: 'answered 429', isFinal: false, retryAfterMs: 5 },
    { status: 503, error: 'answered 503', isFinal: false, retryAfterMs: null },
    { status: 200, error: null, isFinal: false, retryAfterMs: null },
  ];
  const sent = await deliver(outcomes);
  expect(sent.statuses).toEqual([429, 503, 200]);
  expect(sent.listed).toMatchObject([
    {
      status: 'delivered',
      attempts: [{ status: 429 }, { status: 503, error: 'answered 503' }, { error: null }],
    },
  ]);
});

test('a message that its receiver refuses is not tried again', async () => {
  const refusal = { status: 404, error: 'answered 404', isFinal: true, retryAfterMs: null };
  const sent = await deliver([refusal]);
  expect(sent.listed).toMatchObject([{ status: 'failed', attempts: [{ status: 404 }] }]);
});

/** Has one message sent, with these outcomes. */
async function deliver(outcomes: readonly SendOutcome[]) {
  const delivery: Delivery = {
    receiver: 'ops',
    message: { type: 'test', id: 'msg_1', atMs: nowMs, by: 'ann' },
  };
  const queue = createDeliveryQueue(redis, () => undefined);
  let sent = 0;
  const statuses: (number | null)[] = [];
  const connection = createRedis(server.url, 'worker');
  const worker = await createDeliveryWorker({
    redis: connection,
    send: async () => {
      sent += 1;
      const outcome = outcomes[sent - 1];
      if (outcome === undefined) throw new Error('sent too often');
      return outcome;
    },
    onAttempt: async ({ outcome }) => {
      statuses.push(outcome.status);
    },
    onError: () => undefined,
    retryDelaysMs: [1],
  });
  try {
    await queue.add(delivery);
    await queue.add(delivery);
    await waitFor(async () => (await queue.list(10)).every(({ status }) => status !== 'pending'));
    return { statuses, listed: await queue.list(10) };
  } finally {
    await worker.close();
    connection.disconnect();
    await queue.close();
  }
}
