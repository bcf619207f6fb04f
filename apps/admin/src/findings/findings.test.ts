import { appendFile, mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_THRESHOLDS, type FindingKind } from '@gateway/contracts/findings';
import { NOTHING_CONSUMED, type UsageRecord } from '@gateway/contracts/usage/usage-record';
import { createJobList } from '@gateway/jobs/records/job-list';
import { QUEUE_PREFIX } from '@gateway/jobs/redis/job-keys';
import { readSpoolState } from '@gateway/metering/meter/spool-state';
import { dayOf, redisNames } from '@gateway/metering/redis-names';
import { emptyRedis } from '@gateway/metering/testing/records-in-redis';
import { emptyDatabase } from '@gateway/records/testing/empty-database';
import { createUsageStore } from '@gateway/records/usage/usage-store';
import { createRedis } from '@gateway/redis/open-redis';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { type TemporaryFolder, temporaryFolder } from '@gateway/testkit/temporary-folder';
import {
  createCredentialStates,
  readCredentialStates,
} from '@gateway/upstream/credentials/credential-states';
import { createAttemptCounts, readAttemptSlices } from '@gateway/upstream/health/attempt-counts';
import type { Cause } from '@gateway/upstream/health/causes/causes';
import { changeRests, commit } from '@gateway/upstream/health/rests/rest-store';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createConfigurationState } from '../configuration/configuration-state.ts';
import { createConfigurationReader } from '../configuration/read-configuration.ts';
import { createBalanceReader } from '../keys/balances.ts';
import { createChannelRests } from '../operations/channel-rests.ts';
import { type OpenedAccess, openAccess } from '../testing/open-access.ts';
import type { Finding } from './finding.ts';
import { createFindings, type FindingSources } from './read-findings.ts';

let redisServer: TestRedis;
let redis: Redis;
let folder: TemporaryFolder;
let access: OpenedAccess;

const CONFIGURATION = `channels:
  one: { provider: openai, apiKey: some-key }
  two: { provider: openai, apiKey: some-key }
  cloud: { provider: openai-compatible, baseUrl: "https://models.example.com/v1", auth: { type: oauth, tokenUrl: "https://login.example.com/token", clientId: a, clientSecret: b } }
models:
  gpt-5: { kind: text, routes: [{ channel: one }, { channel: two }] }
  alone: { kind: text, routes: [{ channel: one }] }
  "cloud-*": { kind: text, routes: [{ channel: cloud }] }
`;

beforeAll(async () => {
  redisServer = await startRedis();
  redis = createRedis(redisServer.url, 'request');
  await redis.connect();
  folder = await temporaryFolder();
  access = await openAccess(redis, { GATEWAY_DATA_DIR: folder.path });
});
afterAll(async () => {
  await access[Symbol.asyncDispose]();
  await redis.quit();
  await redisServer.close();
  await folder.close();
});
beforeEach(async () => {
  await emptyRedis(redis);
  await emptyDatabase(access.database);
  await rm(join(folder.path, 'usage-spool'), { recursive: true, force: true });
  await writeFile(join(folder.path, 'gateway.yaml'), CONFIGURATION);
});

const BY = { who: 'ann', requestId: null };
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** In the middle of ten minutes: what was a quarter of an hour ago is in the slices that count. */
const nowMs = Math.floor(Date.now() / (10 * MINUTE_MS)) * 10 * MINUTE_MS + 9 * MINUTE_MS;

function sourcesWith(other: Partial<FindingSources> = {}): FindingSources {
  const now = () => nowMs;
  const path = join(folder.path, 'gateway.yaml');
  const env = { GATEWAY_CONFIG: path };
  const usage = createUsageStore({ database: access.database, redis, now, onBroken: () => undefined });
  return {
    now,
    usage: { ...usage, trouble: () => null },
    keys: access.keys,
    teams: access.teams,
    readBalances: createBalanceReader({ redis, now, timeZone: 'UTC' }),
    rests: createChannelRests({ redis, now }),
    jobs: createJobList(redis, () => undefined),
    readConfigurationState: createConfigurationState({ path, env }),
    readConfiguration: createConfigurationReader({ path, env }),
    credentialStates: () => readCredentialStates(redis),
    attemptSlices: (lastMs) => readAttemptSlices(redis, { nowMs, lastMs }),
    readSpool: () => readSpoolState(folder.path),
    thresholds: async () => DEFAULT_THRESHOLDS,
    pingRedis: () => redis.ping(),
    onUnreadable: () => undefined,
    ...other,
  };
}

const findings = async (other?: Partial<FindingSources>): Promise<Finding[]> =>
  (await createFindings(sourcesWith(other))()).all.map(({ finding }) => finding);

interface Sent extends Partial<UsageRecord> {
  readonly agoMs: number;
  readonly count: number;
}

let sent = 0;
async function send({ agoMs, count, ...record }: Sent): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    sent += 1;
    const whole: UsageRecord = {
      ...{ id: `request-${sent}`, keyId: 'key_a', team: 'search', endpoint: 'responses', model: 'gpt-5' },
      ...{ startedAtMs: nowMs - agoMs - 10, durationMs: 10, firstByteMs: 500, outcome: 'ok', channel: 'one' },
      ...{ attempts: 1, consumption: NOTHING_CONSUMED, estimated: false, costMicroUsd: 1 },
      ...record,
    };
    await redis.xadd(redisNames.records(dayOf(Date.now())), '*', 'record', JSON.stringify(whole));
  }
}

const FAILED: Partial<UsageRecord> = {
  ...{ outcome: 'failed', firstByteMs: null },
  detail: { status: 504, errorCode: 'upstream_timeout' },
};
const REFUSED: Partial<UsageRecord> = {
  ...{ outcome: 'failed', firstByteMs: null },
  detail: { status: 400, errorCode: 'upstream_rejected' },
};

async function attempt(channel: string, outcome: 'ok' | 'timeout' | 'rejected', count: number, agoMs = 0) {
  const counts = createAttemptCounts({ redis, now: () => nowMs - agoMs });
  for (let at = 0; at < count; at += 1) counts.add({ channel, outcome });
  await counts.close();
}

/** A rest that the gateway has begun. */
async function restByItself(target: { channel: string; account?: string; cause: Cause; reason: string }) {
  const transaction = redis.multi();
  const { account = null, ...rest } = target;
  const whole = {
    ...{ id: `rest-${target.channel}`, account, model: null, ...rest, by: null },
    ...{ sinceMs: nowMs - MINUTE_MS, untilMs: null, requested: false, level: 0, failures: 3, settings: null },
  };
  changeRests(transaction, { put: [whole], remove: [] });
  await commit(transaction);
}

async function spool(agoMs: number): Promise<void> {
  const path = join(folder.path, 'usage-spool');
  await mkdir(path, { recursive: true });
  await appendFile(join(path, 'a.open.ndjson'), '{"record":{}}\n');
  const at = (Date.now() - agoMs) / 1000;
  await utimes(join(path, 'a.open.ndjson'), at, at);
}

interface Row {
  readonly kind: FindingKind;
  readonly when: string;
  readonly arrange: () => Promise<unknown>;
  readonly sources?: Partial<FindingSources>;
  readonly expected: Partial<Finding>;
}

const ROWS: readonly Row[] = [
  {
    kind: 'model_slow',
    when: 'a model takes longer for its first output than in the days before',
    arrange: async () => {
      await send({ agoMs: 20 * HOUR_MS, count: 30, model: 'alone' });
      await send({ agoMs: 3 * HOUR_MS, count: 10, model: 'alone' });
      await send({ agoMs: 20 * MINUTE_MS, count: 5, model: 'alone', firstByteMs: 2000 });
      await send({ agoMs: 5 * MINUTE_MS, count: 25, model: 'alone', firstByteMs: 2000 });
      await send({ agoMs: 5 * MINUTE_MS, count: 1, model: 'alone', team: null, keyId: 'key_b' });
    },
    expected: {
      subject: 'alone',
      sentence: expect.stringMatching(
        /^The first output of the model 'alone' takes [34]\.\d times as long as usual, at the channel 'one'\.$/,
      ),
      comparison: expect.stringMatching(
        /^[12]\.\d s at the median of the last 15 minutes; \d{3} ms is usual/,
      ),
      affects: 'Team search; 1 key without a team. No other route.',
      advice: expect.stringContaining('add a route'),
      about: { models: ['alone'], channels: ['one'], teams: ['search'], keyId: null },
      actions: ['test_channel', 'rest_channel'],
      since: new Date(Math.floor((nowMs - 20 * MINUTE_MS) / (5 * MINUTE_MS)) * 5 * MINUTE_MS).toISOString(),
    },
  },
  {
    kind: 'model_failing',
    when: "a model's requests fail at its provider",
    arrange: async () => {
      await send({ agoMs: DAY_MS / 2, count: 30 });
      await send({ agoMs: 2 * MINUTE_MS, count: 12, ...FAILED });
      await send({ agoMs: 2 * MINUTE_MS, count: 12 });
    },
    expected: {
      sentence: "50% of the requests for the model 'gpt-5' failed, all of them at one.",
      comparison:
        '12 requests of 24 in the last 15 minutes, most of them with upstream_timeout; 0% is usual (last 7 days).',
      affects: 'Team search.',
      isUrgent: true,
    },
  },
  {
    kind: 'channel_failing',
    when: 'attempts at a channel fail, also where another one answers',
    arrange: async () => {
      await attempt('one', 'ok', 99, 3 * HOUR_MS);
      await attempt('one', 'timeout', 1, 3 * HOUR_MS);
      await attempt('one', 'timeout', 15);
      await attempt('one', 'ok', 15);
    },
    expected: {
      sentence: "50% of the attempts at the channel 'one' failed.",
      comparison:
        '15 attempts of 30 in the last 10 to 20 minutes, most of them timeout; 1% is usual (last day).',
      affects: 'Models gpt-5 and alone; no other route for alone.',
      actions: ['test_channel', 'rest_channel'],
      since: new Date(Math.floor(nowMs / (10 * MINUTE_MS)) * 10 * MINUTE_MS).toISOString(),
    },
  },
  {
    kind: 'channel_resting',
    when: 'a channel rests by itself',
    arrange: () => restByItself({ channel: 'cloud', cause: 'failing', reason: 'it fails to answer' }),
    expected: {
      sentence: "The channel 'cloud' is resting until woken: it fails to answer.",
      affects: 'Model cloud-*; no other route. Requests that nothing else serves still go there.',
      actions: ['test_channel', 'wake_channel'],
      isUrgent: true,
    },
  },
  {
    kind: 'model_routes',
    when: 'all channels of a model but one rest',
    arrange: () =>
      createChannelRests({ redis, now: () => nowMs }).rest(
        { channel: 'two', account: null, model: null, seconds: 600, reason: 'works' },
        BY,
      ),
    expected: {
      subject: 'gpt-5',
      sentence: "The model 'gpt-5' has only the channel 'one' left.",
      comparison: '1 of 2 channels; two is resting.',
      isUrgent: false,
    },
  },
  {
    kind: 'credentials_refused',
    when: 'a provider refuses an API key',
    arrange: () =>
      restByItself({
        ...{ channel: 'one', account: 'default', cause: 'credentials' },
        reason: 'the provider refuses the API key',
      }),
    expected: {
      sentence: "On the channel 'one', account 'default' is not used: the provider refuses the API key.",
      isUrgent: true,
    },
  },
  {
    kind: 'credentials_refused',
    when: 'an account gets no credentials',
    arrange: () => report(null),
    expected: {
      sentence:
        "There are no valid credentials for the account 'default' of the channel 'cloud': the token endpoint answered 401.",
      advice: 'Check OAuth at login.example.com.',
      isUrgent: true,
    },
  },
  {
    kind: 'credentials_expiring',
    when: 'credentials expire and cannot be renewed',
    arrange: () => report(nowMs + 5 * MINUTE_MS),
    expected: { sentence: expect.stringContaining('expire soon and cannot be renewed'), isUrgent: false },
  },
  {
    kind: 'key_expiring',
    when: "a caller's key expires",
    arrange: async () => {
      const expiresAt = new Date(nowMs + 3 * DAY_MS).toISOString();
      await access.keys.createKey({ name: 'nightly', team: 'search', owner: 'ann', expiresAt }, BY);
      const later = new Date(nowMs + 30 * DAY_MS).toISOString();
      await access.keys.createKey({ name: 'later', expiresAt: later }, BY);
    },
    expected: {
      sentence: "The key 'nightly' expires soon: its requests are refused from then on.",
      affects: 'Team search. Owner: ann.',
      until: new Date(nowMs + 3 * DAY_MS).toISOString(),
    },
  },
  {
    kind: 'queue_waiting',
    when: 'a job waits for long',
    arrange: async () => {
      const queue = new Queue('image', { connection: redis, prefix: QUEUE_PREFIX });
      await queue.add('image.generation', {}, { timestamp: nowMs - 10 * MINUTE_MS });
      await queue.close();
    },
    expected: {
      sentence: "Jobs waiting in the queue 'image': 1, one of them for 10 min.",
      comparison: '0 jobs in progress; more than 60 s is too long.',
      advice: 'Check that its workers run.',
    },
  },
  {
    kind: 'usage_waiting',
    when: 'the database is away',
    arrange: async () => undefined,
    sources: {
      usage: {
        sums: () => Promise.reject(new Error('away')),
        trouble: () => ({ kind: 'database away', sinceMs: nowMs - MINUTE_MS, reason: 'it is locked' }),
      },
    },
    expected: { sentence: expect.stringContaining('it is locked'), isUrgent: true },
  },
  {
    kind: 'redis_away',
    when: 'Redis is away',
    arrange: async () => undefined,
    sources: {
      pingRedis: () => Promise.reject(new Error('away')),
      jobs: { counts: () => Promise.reject(new Error('away')) },
      rests: { list: () => Promise.reject(new Error('away')) },
    },
    expected: { sentence: 'Redis does not answer.', isUrgent: true },
  },
  {
    kind: 'configuration_invalid',
    when: 'the file has a mistake',
    arrange: () =>
      writeFile(join(folder.path, 'gateway.yaml'), CONFIGURATION.replace('channel: two', 'channel: tow')),
    expected: { sentence: expect.stringContaining('in line 6'), isUrgent: true },
  },
];

function report(expiresAtMs: number | null): Promise<void> {
  const states = createCredentialStates({ redis, now: () => nowMs - MINUTE_MS });
  const failure = 'the token endpoint answered 401';
  states.add({
    channel: 'cloud',
    account: 'default',
    source: 'OAuth at login.example.com',
    expiresAtMs,
    failure,
  });
  return states.flush();
}

test.for(ROWS)('$kind is found when $when', async ({ kind, arrange, sources, expected }) => {
  await arrange();
  const all = await findings(sources);
  expect(all.map((one) => one.kind)).toContain(kind);
  expect(all.find((one) => one.kind === kind)).toMatchObject(expected);
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
});

test('usage that waits on disk is found once it has waited for longer than Redis needs', async () => {
  const atMs = Date.now();
  await spool(0);
  expect(await findings({ now: () => atMs })).toEqual([]);
  await spool(5 * MINUTE_MS);
  expect(await findings({ now: () => atMs })).toMatchObject([
    { kind: 'usage_spooled', sentence: expect.stringContaining('in 1 file.'), isUrgent: true },
  ]);
});

test('what callers cause, few requests, a shorter wait, and what is as usual are no findings', async () => {
  await send({ agoMs: 2 * MINUTE_MS, count: 40, ...REFUSED });
  await send({ agoMs: 2 * MINUTE_MS, count: 40 });
  await send({ agoMs: 2 * MINUTE_MS, count: 5, model: 'alone', ...FAILED });
  await send({ agoMs: 5 * HOUR_MS, count: 40 });
  await attempt('one', 'rejected', 40);
  await attempt('one', 'ok', 10);
  await attempt('two', 'timeout', 10);
  expect(await findings()).toEqual([]);
});

test('where something cannot be read it is said which kinds are not known, and the rest is found', async () => {
  await restByItself({ channel: 'cloud', cause: 'failing', reason: 'it fails to answer' });
  const read = createFindings(
    sourcesWith({
      usage: {
        sums: () => Promise.reject(new Error('away')),
        trouble: () => ({ kind: 'database away', sinceMs: nowMs, reason: 'away' }),
      },
    }),
  );
  const { all, unknown } = await read();
  expect(all.map(({ finding }) => finding.kind)).toEqual(['usage_waiting', 'channel_resting']);
  expect([...unknown].toSorted()).toEqual(['model_failing', 'model_slow', 'unpriced_model']);
});

test('a source that fails by itself is named, the rest is found, and the log is told once', async () => {
  await restByItself({ channel: 'cloud', cause: 'failing', reason: 'it fails to answer' });
  const told: string[] = [];
  let atMs = nowMs;
  const read = createFindings(
    sourcesWith({
      now: () => atMs,
      jobs: { counts: () => Promise.reject(new Error('WRONGTYPE')) },
      onUnreadable: (source, error) => told.push(`${source}: ${error}`),
    }),
  );
  const { all, unknown } = await read();
  expect(all.map(({ finding }) => finding.kind)).toEqual(['channel_resting', 'source_unreadable']);
  expect(all[1]?.finding).toMatchObject({
    ...{ subject: 'queues', sentence: 'This list is incomplete: queues could not be read.' },
    ...{ affects: expect.stringContaining('queue_waiting'), since: new Date(nowMs).toISOString() },
  });
  expect([...unknown]).toEqual(['queue_waiting']);
  atMs += MINUTE_MS;
  expect((await read()).all[1]?.finding.since).toBe(new Date(nowMs).toISOString());
  expect(told).toEqual(['queues: Error: WRONGTYPE']);
});

test('each share of a budget that is reached is a step of one finding', async () => {
  const { record } = await access.keys.createKey(
    { name: 'near', team: 'search', budget: { usd: 1, period: 'month' } },
    BY,
  );
  const stepsAt = async (usd: number) => {
    const spent = { period: 'month' as const, usd: 1, spentUsd: usd, reservedUsd: 0, remainingUsd: 0 };
    const readBalances = async () => [{ limits: [], budget: { ...spent, resetsAt: null } }];
    const { all } = await createFindings(sourcesWith({ readBalances }))();
    return all.map(({ finding, step }) => [finding.id, finding.kind, step]);
  };
  const id = `budget key ${record.id}`;
  expect(await stepsAt(0.79)).toEqual([]);
  expect(await stepsAt(0.8)).toEqual([[id, 'budget_near', 1]]);
  expect(await stepsAt(0.96)).toEqual([[id, 'budget_near', 2]]);
  expect(await stepsAt(1)).toEqual([[id, 'budget_spent', 3]]);
});
