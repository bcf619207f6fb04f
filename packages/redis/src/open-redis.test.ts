import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { freePort } from '@gateway/testkit/free-port';
import { makeAuthority } from '@gateway/testkit/make-authority';
import { startRedis, type TestRedis } from '@gateway/testkit/start-redis';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { REPLACED } from './connection/redis-client.ts';
import { defineScript } from './define-script.ts';
import { createRedis, openRedis, type RedisUse } from './open-redis.ts';
import { startFakeSentinel } from './testing/fake-sentinel.ts';
import { endAtOnce, MASTER, startRedisGroup } from './testing/start-redis-group.ts';

let resources = new AsyncDisposableStack();
afterEach(async () => {
  const ended = resources;
  resources = new AsyncDisposableStack();
  await ended.disposeAsync();
});

const server = async (options?: Parameters<typeof startRedis>[0]): Promise<TestRedis> =>
  resources.adopt(await startRedis(options), endAtOnce);
const open = async (url: string, use: RedisUse = 'request'): Promise<Redis> =>
  resources.adopt(await openRedis(url, use, () => undefined), (opened) => opened.disconnect());
/** A connection past ours. */
function admin(url: string): Redis {
  const redis = resources.adopt(new Redis(url), (opened) => opened.disconnect());
  return redis.on('error', () => undefined);
}
const sentinels = async (...says: Parameters<typeof startFakeSentinel>[0][]) => {
  const started = await Promise.all(says.map(startFakeSentinel));
  for (const sentinel of started) resources.use(sentinel);
  return {
    started,
    url: `redis+sentinel://${started.map(({ port }) => `127.0.0.1:${port}`).join(',')}/main`,
  };
};
const portOf = async (redis: Redis) => Number((await redis.info('server')).match(/^tcp_port:(\d+)/m)?.[1]);

test('a password that is replaced in its file works from the next connection on, also of copies', async () => {
  const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
  const file = join(folder.path, 'password');
  await writeFile(file, 'first\n');
  const { port } = await server({ lines: ['requirepass first'] });
  const url = `redis://127.0.0.1:${port}?passwordFile=${encodeURIComponent(file)}`;
  const redis = await open(url, 'worker');
  const copy = resources.adopt(redis.duplicate(), (opened) => opened.disconnect());
  await copy.set('a', 1);

  const operator = admin(`redis://:first@127.0.0.1:${port}`);
  await operator.config('SET', 'requirepass', 'second');
  await writeFile(file, 'second\n');
  await operator.call('CLIENT', 'KILL', 'TYPE', 'normal');
  expect(await Promise.all([redis.get('a'), copy.get('a')])).toEqual(['1', '1']);
});

test('a wrong password, a user without rights and TLS that does not fit are explained', async () => {
  await using authority = await makeAuthority(['127.0.0.1']);
  await using stranger = await makeAuthority(['127.0.0.1']);
  const folder = resources.adopt(await temporaryFolder(), (owned) => owned.close());
  const [cert, key] = [join(folder.path, 'cert'), join(folder.path, 'key')];
  await Promise.all([writeFile(cert, authority.cert), writeFile(key, authority.key)]);
  const tlsPort = await freePort();
  const { port } = await server({
    lines: [
      'requirepass hush',
      `tls-port ${tlsPort}`,
      `tls-cert-file ${cert}`,
      `tls-key-file ${key}`,
      `tls-ca-cert-file ${authority.file}`,
    ],
  });
  const files = `certFile=${cert}&keyFile=${key}`;
  const ok = await open(`rediss://:hush@127.0.0.1:${tlsPort}?caFile=${authority.file}&${files}`);
  expect(await ok.ping()).toBe('PONG');
  for (const [url, reason] of [
    [`redis://:hushed@127.0.0.1:${port}`, /WRONGPASS.*; correct the user and the password in REDIS_URL/],
    [`redis://127.0.0.1:${port}`, /NOAUTH.*; correct the user and the password/],
    [`rediss://:hush@127.0.0.1:${tlsPort}?${files}`, /REDIS_CA_FILE/],
    [`rediss://:hush@127.0.0.1:${tlsPort}?caFile=${stranger.file}&${files}`, /REDIS_CA_FILE/],
    [`rediss://:hush@localhost:${tlsPort}?caFile=${authority.file}&${files}`, /\?serverName=/],
    [`redis://:hush@127.0.0.1:${tlsPort}`, /if it expects TLS, write rediss:\/\//],
  ] as const) {
    const opening = openRedis(url, 'once', () => undefined);
    await expect(opening, url).rejects.toThrow(reason);
    await expect(opening, url).rejects.not.toThrow(/hush/);
  }
});

test('a replica, a sentinel and a node of a cluster are refused', async () => {
  const master = await server();
  const replica = await server({ lines: [`replicaof 127.0.0.1 ${master.port}`, 'replica-read-only no'] });
  const node = await server({ lines: ['cluster-enabled yes'] });
  await using group = await startRedisGroup({ replicas: 0, sentinels: 1 });
  const failing = (url: string) => openRedis(url, 'worker', () => undefined);
  await expect(failing(replica.url)).rejects.toThrow(/is a replica, whose writes are lost: name its master/);
  await expect(failing(group.sentinels[0]?.url ?? '')).rejects.toThrow(
    /is a sentinel: write redis\+sentinel/,
  );
  await expect(failing(node.url)).rejects.toThrow(/Redis Cluster, which is not supported/);
});

test('after the death of a master with a name, connections of all kinds go on with the next one at an address', async () => {
  await using group = await startRedisGroup({
    downAfterMs: 500,
    host: 'localhost',
    sentinelLines: ['sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes'],
  });
  const request = await open(group.url, 'request');
  const worker = await open(group.url, 'worker');
  const listener = await open(group.url, 'listener');
  const heard: string[] = [];
  let replaced = 0;
  request.on(REPLACED, () => (replaced += 1));
  listener.on('message', (_, text) => heard.push(text));
  await listener.subscribe('news');
  const run = defineScript(request, 'gatewayTry', "return redis.call('INCR', KEYS[1])", z.number());
  await run(['count']);
  await waitFor(async () => (await admin(group.nodes[1]?.url ?? '').get('count')) === '1');
  group.nodes[0]?.kill('SIGKILL');
  await expect(request.get('count')).rejects.toThrow();
  // It waits for the next master.
  expect(await worker.incr('count')).toBe(2);
  expect(await waitFor(() => run(['count']))).toBe(3);
  await waitFor(() => replaced === 1);
  await waitFor(async () => (await request.publish('news', 'of today')) === 1);
  await waitFor(() => heard.length > 0);
  expect(await portOf(worker)).toBe(group.nodes[1]?.port);
});

test('a sentinel that is cut off, knows nothing or is silent is outvoted, and one that is away is done without', async () => {
  const [master, former] = [await server(), await server()];
  const two = await sentinels(former.port, master.port, master.port);
  expect(await portOf(await open(two.url))).toBe(master.port);
  expect(await portOf(await open((await sentinels(null, 'silent', master.port)).url))).toBe(master.port);
  expect(await portOf(await open((await sentinels('silent', master.port, master.port)).url))).toBe(
    master.port,
  );
  await two.started[1]?.[Symbol.asyncDispose]();
  await two.started[0]?.[Symbol.asyncDispose]();
  expect(await portOf(await open(two.url))).toBe(master.port);
  await expect(open((await sentinels(null, null)).url)).rejects.toThrow(
    /know no master named "main": correct/,
  );
  await expect(open(`redis+sentinel://127.0.0.1:${await freePort()}/main`)).rejects.toThrow(
    /no sentinel of 127\.0\.0\.1:\d+ answers: .*ECONNREFUSED/,
  );
});

test('of two sentinels that disagree, the one is believed whose address is a master', async () => {
  const master = await server();
  const replica = await server({ lines: [`replicaof 127.0.0.1 ${master.port}`] });
  const { url } = await sentinels(replica.port, master.port);
  const redis = resources.adopt(createRedis(url, 'worker'), (opened) => opened.disconnect());
  redis.on('error', () => undefined);
  redis.connect().catch(() => undefined);
  await waitFor(() => redis.status === 'ready');
  expect(await portOf(redis)).toBe(master.port);
});

test('a master that is frozen, or has become a replica that takes writes, is left for the next one', async () => {
  const [first, second] = [await server(), await server()];
  const { url, started } = await sentinels(first.port);
  const listener = await open(url, 'listener');
  await listener.subscribe('news');
  const request = await open(url, 'request');
  const sayNext = (port: number) => {
    for (const sentinel of started) sentinel.says = port;
  };
  first.kill('SIGSTOP');
  sayNext(second.port);
  const next = admin(second.url);
  await waitFor(async () => (await next.publish('news', 'one')) === 1);
  await waitFor(() => request.set('written', 'to the second'));
  expect(await next.get('written')).toBe('to the second');
  first.kill('SIGCONT');

  await next.config('SET', 'replica-read-only', 'no');
  await next.replicaof('127.0.0.1', first.port);
  sayNext(first.port);
  await waitFor(async () => (await admin(first.url).publish('news', 'two')) === 1);
  await waitFor(async () => (await portOf(request)) === first.port);
});

test.each(['closed', 'lost'] as const)(
  'a connection that is %s while it subscribes again does not end the process',
  async (ends) => {
    const { port } = await server();
    const subscribing = { isHeldUp: false, times: 0 };
    const callers = new Set<Socket>();
    const proxy = createServer((caller) => {
      callers.add(caller);
      const redis = connect(port, '127.0.0.1');
      for (const socket of [caller, redis]) socket.on('error', () => undefined);
      caller.on('close', () => redis.destroy());
      redis.pipe(caller);
      caller.on('data', (sent) => {
        if (!subscribing.isHeldUp || !/subscribe/i.test(sent.toString())) redis.write(sent);
        else subscribing.times += 1;
      });
    }).listen(0, '127.0.0.1');
    resources.defer(() => void proxy.close());
    await once(proxy, 'listening');
    const lose = () => {
      for (const caller of callers) caller.destroy();
      callers.clear();
    };
    resources.defer(lose);
    const uncaught: unknown[] = [];
    const note = (reason: unknown) => uncaught.push(reason);
    process.on('unhandledRejection', note);
    resources.defer(() => void process.off('unhandledRejection', note));

    const { port: proxyPort } = proxy.address() as AddressInfo;
    const redis = await open(`redis://127.0.0.1:${proxyPort}`);
    await redis.subscribe('news');
    subscribing.isHeldUp = true;
    lose();
    await waitFor(() => subscribing.times === 1);
    const closed = once(redis, 'close');
    if (ends === 'closed') redis.disconnect();
    else lose();
    await closed;
    await nextTurn();
    expect(uncaught).toEqual([]);
  },
);

test('a script that a former master refuses is run by the next one, and a command fails at once', async () => {
  const [first, second] = [await server(), await server()];
  const { url, started } = await sentinels(first.port);
  const worker = await open(url, 'worker');
  const request = await open(url, 'request');
  const run = defineScript(worker, 'gatewayTry', "return redis.call('INCR', KEYS[1])", z.number());
  await run(['a']);
  await admin(first.url).replicaof('127.0.0.1', second.port);
  for (const sentinel of started) sentinel.says = second.port;
  const [script, command] = await Promise.allSettled([run(['a']), request.set('b', 1)]);
  expect(script).toMatchObject({ status: 'fulfilled' });
  expect(command).toMatchObject({ status: 'rejected' });
  await waitFor(() => request.set('b', 1));
  expect(await admin(second.url).exists('a', 'b')).toBe(2);
});

test('the name of the master must be the one of the sentinels', async () => {
  await using group = await startRedisGroup({ replicas: 0, sentinels: 1 });
  await expect(open(group.url.replace(`/${MASTER}`, '/other'))).rejects.toThrow(/no master named "other"/);
});
