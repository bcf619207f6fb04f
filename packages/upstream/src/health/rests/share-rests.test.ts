import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { openUpstream } from '../../open-upstream.ts';
import { error, json, type ProviderForTests, startProvider } from '../../provider-for-tests.ts';
import { MAX_BYTES, sendRequest } from '../../sending/send-for-tests.ts';
import type { Upstream } from '../../upstream.ts';
import { restNames } from './rest-store.ts';

let redis: TestRedis;
let admin: Redis;
beforeAll(async () => {
  redis = await startRedis();
  admin = new Redis(redis.url);
});
afterAll(async () => {
  admin.disconnect();
  await redis.close();
});
beforeEach(async () => {
  await admin.flushall();
});

const LONG = 'cooldown: { consecutiveFailures: 2, restSeconds: 1000, maxRestSeconds: 1000 }';
const SHORT = 'cooldown: { consecutiveFailures: 2, restSeconds: 1, maxRestSeconds: 1 }';

const fileOf = (first: string, second: string, settings: string, key: string) => `
channels:
  first: { provider: openai, baseUrl: "${first}/v1", apiKey: ${key}, ${settings} }
  second: { provider: openai, baseUrl: "${second}/v1", apiKey: sk-secret-of-second }
models:
  small: { kind: text, routes: [{ channel: first, model: large }, { channel: second, priority: 1 }] }
`;

interface Site {
  readonly first: ProviderForTests;
  readonly second: ProviderForTests;
  /** Opens a replica, as a process that starts does. */
  open(options?: { url?: string; key?: string }): Promise<{ upstream: Upstream; close(): Promise<void> }>;
  readonly log: Record<string, unknown>[];
}

const site = async (settings = LONG): Promise<Site> => {
  const [first, second] = [await startProvider(), await startProvider()];
  const folder = await temporaryFolder();
  onTestFinished(() => folder.close());
  const log: Record<string, unknown>[] = [];
  const line = (fields: object | string, message?: string) =>
    log.push(typeof fields === 'string' ? { message: fields } : { ...fields, message });
  return {
    first,
    second,
    log,
    async open({ url = redis.url, key = 'sk-secret-of-first' } = {}) {
      const path = join(folder.path, `${key}.yaml`);
      await writeFile(path, fileOf(first.origin, second.origin, settings, key));
      const connection = new Redis(url, {
        enableOfflineQueue: false,
        maxRetriesPerRequest: 0,
        lazyConnect: true,
        retryStrategy: () => 20,
      });
      connection.on('error', () => undefined);
      await connection.connect().catch(() => undefined);
      const logger = { info: line, warn: line, error: line };
      const opened = await openUpstream({ path, env: {}, logger, redis: connection });
      let isOpen = true;
      const close = async () => {
        if (!isOpen) return;
        isOpen = false;
        await opened.close();
        connection.disconnect();
      };
      onTestFinished(close);
      await opened.follow();
      return { upstream: opened.upstream, close };
    },
  };
};

const channelsTried = async (upstream: Upstream): Promise<readonly string[]> => {
  const reply = await sendRequest(upstream);
  await reply.bytes(MAX_BYTES);
  return reply.attempts.map(({ channel }) => channel);
};

const untilResting = (upstream: Upstream, cause = 'failing') =>
  waitFor(() => upstream.health.resting().some((one) => one.cause === cause));
const untilAwake = (upstream: Upstream) => waitFor(() => upstream.health.resting().length === 0);

const fail = async ({ first }: Site, upstream: Upstream) => {
  first.answer = error(500, {});
  await channelsTried(upstream);
  await channelsTried(upstream);
};

test('what one replica finds out all others know, and so do those that start later', async () => {
  const shared = await site();
  const [one, two] = [await shared.open(), await shared.open()];
  await fail(shared, one.upstream);
  await untilResting(two.upstream);
  expect(await channelsTried(two.upstream)).toEqual(['second']);
  expect(shared.first.requests).toHaveLength(2);
  await Promise.all([one.close(), two.close()]);
  expect(await channelsTried((await shared.open()).upstream)).toEqual(['second']);
});

test('a channel that answers again is awake in all replicas', async () => {
  const shared = await site();
  const [one, two] = [await shared.open(), await shared.open()];
  await fail(shared, one.upstream);
  await untilResting(two.upstream);
  shared.first.answer = (response) => json(response, { ok: true });
  shared.second.answer = error(500, {});
  expect(await channelsTried(two.upstream)).toEqual(['second', 'first']);
  await untilAwake(one.upstream);
  expect(await admin.hlen(restNames.rests)).toBe(0);
});

test('each rest is logged once when it begins and once when it ends, by the replica that found it out', async () => {
  const shared = await site();
  const [one, two] = [await shared.open(), await shared.open()];
  await fail(shared, one.upstream);
  await untilResting(two.upstream);
  shared.first.answer = (response) => json(response, { ok: true });
  shared.second.answer = error(500, {});
  await channelsTried(two.upstream);
  await untilAwake(one.upstream);
  expect(shared.log).toMatchObject([
    { message: 'a channel rests', channel: 'first', model: 'large', cause: 'failing', failures: 2 },
    { message: 'a channel no longer rests', channel: 'first', how: 'answered' },
  ]);
});

test('one request of all replicas together probes what has rested', async () => {
  const shared = await site(SHORT);
  const replicas = await Promise.all([1, 2, 3].map(() => shared.open()));
  const upstream = replicas[0]?.upstream;
  if (upstream === undefined) throw new Error('no replica');
  await fail(shared, upstream);
  await Promise.all(replicas.map((replica) => untilResting(replica.upstream)));
  await Promise.all(replicas.map((replica) => untilAwake(replica.upstream)));
  const probe = Promise.withResolvers<void>();
  shared.first.answer = async (response) => {
    await probe.promise;
    json(response, { ok: true });
  };
  const seen = shared.first.requests.length;
  const others: string[] = [];
  const replies = Array.from({ length: 30 }, (_, index) =>
    channelsTried(replicas[index % 3]?.upstream ?? upstream).then((tried) => others.push(...tried)),
  );
  await waitFor(() => others.length === 29);
  expect(others.every((channel) => channel === 'second')).toBe(true);
  expect(shared.first.requests.length - seen).toBe(1);
  probe.resolve();
  await Promise.all(replies);
  expect(others.at(-1)).toBe('first');
});

test('while Redis is away a replica goes on by what it knows, and shares it when Redis is back', async () => {
  const own = await startRedis();
  const shared = await site();
  const [one, two] = [await shared.open({ url: own.url }), await shared.open({ url: own.url })];
  await own.close();
  await fail(shared, one.upstream);
  expect(await channelsTried(one.upstream)).toEqual(['second']);
  expect(two.upstream.health.resting()).toEqual([]);
  const back = await startRedis({ port: own.port });
  onTestFinished(() => back.close());
  await untilResting(two.upstream);
  expect(one.upstream.health.resting()).toHaveLength(1);
});

test('a Redis that comes back without its data gets the rests again', async () => {
  const own = await startRedis();
  const shared = await site();
  const [one, two] = [await shared.open({ url: own.url }), await shared.open({ url: own.url })];
  await fail(shared, one.upstream);
  await untilResting(two.upstream);
  await own.close();
  const back = await startRedis({ port: own.port });
  onTestFinished(() => back.close());
  const connection = new Redis(back.url);
  onTestFinished(() => connection.disconnect());
  await waitFor(async () => (await connection.hlen(restNames.rests)) === 1);
  expect(one.upstream.health.resting()).toHaveLength(1);
  expect((await shared.open({ url: back.url })).upstream.health.resting()).toHaveLength(1);
});

test('wrong credentials are reported once, and a replica with another key is not concerned', async () => {
  const shared = await site();
  const [one, two] = [await shared.open(), await shared.open()];
  shared.first.answer = error(401, { error: { code: 'invalid_api_key' } });
  expect(await channelsTried(one.upstream)).toEqual(['first', 'second']);
  expect(await channelsTried(one.upstream)).toEqual(['second']);
  await untilResting(two.upstream, 'credentials');
  expect(shared.log).toMatchObject([
    { message: 'a provider refuses the API key: correct it in the configuration' },
  ]);
  const stored = JSON.stringify(await admin.hgetall(restNames.rests));
  expect(stored).toContain('credentials');
  expect(stored).not.toContain('sk-secret');
  const renewed = await shared.open({ key: 'sk-another-of-first' });
  expect(renewed.upstream.health.resting()).toEqual([]);
});

test('a rest for wrong credentials does not outlast a restart with another key', async () => {
  const shared = await site();
  const one = await shared.open();
  shared.first.answer = error(401, {});
  await channelsTried(one.upstream);
  await waitFor(async () => (await admin.hlen(restNames.rests)) === 1);
  await one.close();
  await shared.open({ key: 'sk-another-of-first' });
  await waitFor(async () => (await admin.hlen(restNames.rests)) === 0);
});

test('a rest for wrong credentials ends everywhere once the channel has another key', async () => {
  const shared = await site();
  const [one, two] = [await shared.open(), await shared.open()];
  shared.first.answer = error(401, {});
  await channelsTried(one.upstream);
  await untilResting(two.upstream, 'credentials');
  const renewed = await shared.open({ key: 'sk-another-of-first' });
  one.upstream.replace(renewed.upstream.configuration);
  await untilAwake(two.upstream);
});

test('what another version of the gateway stored is left alone', async () => {
  const shared = await site();
  await admin.hset(restNames.rests, 'later', '{"kind":"unknown"}', 'broken', '{');
  const { upstream } = await shared.open();
  await fail(shared, upstream);
  await waitFor(async () => (await admin.hlen(restNames.rests)) === 3);
  expect(await channelsTried(upstream)).toEqual(['second']);
});
