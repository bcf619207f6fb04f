import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { freePort } from '@gateway/testkit/free-port';
import { startRedis } from '@gateway/testkit/start-redis';
import { type TemporaryFolder, temporaryFolder } from '@gateway/testkit/temporary-folder';
import { waitFor } from '@gateway/testkit/wait-for';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isAlive } from './data-folder.ts';
import { BUSY_NODE_OPTIONS, type ProcessRow } from './processes/process-table.ts';
import { type Stack, type StackOptions, startStack } from './start-stack.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures');

const row = (name: string, changes: Partial<ProcessRow> = {}): ProcessRow => ({
  name,
  entry: 'serving.ts',
  stage: 'service',
  port: { variable: 'PORT', fallback: 0 },
  urlVariable: null,
  secrets: [],
  ...changes,
});
const EDGE = row('edge', { stage: 'edge', secrets: ['GATEWAY_ADMIN_TOKEN'] });
const TEXT = row('text', { port: { variable: 'TEXT_PORT', fallback: 0 }, urlVariable: 'TEXT_URL' });

let folder: TemporaryFolder;
const stacks: Stack[] = [];
/** All that the processes of a test wrote. */
const lines: string[] = [];

beforeEach(async () => {
  lines.length = 0;
  folder = await temporaryFolder();
});
afterEach(async () => {
  await Promise.all(stacks.splice(0).map((stack) => stack.end()));
  await folder.close();
});

async function start(options: Partial<StackOptions> = {}): Promise<Stack> {
  const stack = await startStack({
    dataDir: join(folder.path, 'data'),
    env: {},
    processes: [EDGE],
    root: FIXTURES,
    onLines: (_, some) => lines.push(...some),
    ...options,
  });
  stacks.push(stack);
  return stack;
}

interface Answer {
  readonly pid: number;
  readonly env: Record<string, string | undefined>;
  readonly nodeOptions: readonly string[];
}

async function get(url: string | null): Promise<Answer> {
  const response = await fetch(url ?? 'no url');
  return JSON.parse(await response.text());
}

test('a process gets the shared settings, and no secret of another', async () => {
  const stack = await start({ processes: [TEXT], env: { FIXTURE_PORT_VARIABLE: 'TEXT_PORT' } });
  const { env } = await get(stack.process('text').url);
  expect(env).toMatchObject({
    REDIS_URL: stack.redisUrl,
    PUBLIC_URL: stack.edgeUrl,
    EDGE_URL: stack.edgeUrl,
  });
  expect(env.GATEWAY_SECRET).toMatch(/^.{43}$/);
  expect(env).not.toHaveProperty('GATEWAY_BOOTSTRAP_KEY');
  expect(env).not.toHaveProperty('GATEWAY_ADMIN_TOKEN');
  expect(env).not.toHaveProperty('ADMIN_INSTANCE_KEY');
});

test('while it runs, the data folder has the address of its admin service and the key that proves it', async () => {
  const file = join(folder.path, 'data/admin.json');
  await mkdir(join(folder.path, 'data'));
  await writeFile(file, '{"url":"http://127.0.0.1:1","instanceKey":"of a stack that was killed"}');
  const without = await start();
  await expect(readFile(file)).rejects.toThrow('ENOENT');
  await without.stop();
  const admin = row('admin', { port: null, urlVariable: 'ADMIN_URL', secrets: ['ADMIN_INSTANCE_KEY'] });
  const stack = await start({ processes: [admin, EDGE] });
  const { env } = await get(stack.adminUrl);
  const record: unknown = JSON.parse(await readFile(file, 'utf8'));
  expect(record).toEqual({ url: stack.adminUrl, instanceKey: env.ADMIN_INSTANCE_KEY });
  expect(env.ADMIN_INSTANCE_KEY).toMatch(/^.{43}$/);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await stack.stop();
  await expect(readFile(file)).rejects.toThrow('ENOENT');
});

test('the edge gets the addresses of the services, one for each replica', async () => {
  const text = row('text', { port: null, entry: 'serving.ts', urlVariable: 'TEXT_URL' });
  const stack = await start({ processes: [text, EDGE], replicas: { text: 2 } });
  const edge = await get(stack.edgeUrl);
  const urls = [stack.process('text').url, stack.process('text-2').url];
  expect(new Set(edge.env.TEXT_URL?.split(','))).toEqual(new Set(urls));
  expect(edge.env.GATEWAY_ADMIN_TOKEN).toBe(stack.adminToken);
});

test('a process that most requests pass through gets the options that keep it fast', async () => {
  const text = row('text', { port: null, urlVariable: 'TEXT_URL' });
  const stack = await start({ processes: [text, { ...EDGE, isBusy: true }] });
  const [quiet, busy] = await Promise.all([get(stack.process('text').url), get(stack.edgeUrl)]);
  expect(quiet.nodeOptions).toEqual([]);
  expect(busy.nodeOptions).toEqual(BUSY_NODE_OPTIONS);
});

test('a process gives memory back to the system, one that few requests pass through sooner, unless the environment says how', async () => {
  const text = row('text', { port: null, urlVariable: 'TEXT_URL' });
  const processes = [text, { ...EDGE, isBusy: true }];
  const stack = await start({ processes, env: { MALLOC_ARENA_MAX: '1' } });
  const [quiet, busy] = await Promise.all([get(stack.process('text').url), get(stack.edgeUrl)]);
  expect(quiet.env).toMatchObject({ MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072' });
  expect(busy.env).toMatchObject({ MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '1048576' });
});

test('replicas of a process with several ports do not take them from each other', async () => {
  const FURTHER = { variable: 'EDGE_METRICS_PORT', fallback: 9080 };
  const stack = await start({ processes: [{ ...EDGE, furtherPorts: [FURTHER] }], replicas: { edge: 2 } });
  const [first, second] = await Promise.all([get(stack.edgeUrl), get(stack.process('edge-2').url)]);
  expect(stack.edgeMetricsUrl).toBe(`http://127.0.0.1:${first.env.EDGE_METRICS_PORT}`);
  expect(second.env).toMatchObject({ PORT: '0', EDGE_METRICS_PORT: '0' });
});

test('a process that dies is reported and started again on its port', async () => {
  const reports: string[] = [];
  const stack = await start({ report: (line) => reports.push(line) });
  const before = await get(stack.edgeUrl);
  stack.process('edge').kill('SIGKILL');
  const after = await waitFor(async () => {
    const answer = await get(stack.edgeUrl);
    return answer.pid !== before.pid && answer;
  });
  expect(after.pid).toBe(stack.process('edge').pid);
  expect(reports).toEqual([expect.stringMatching(/^edge ended \(signal SIGKILL\)/), 'edge is running again']);
});

test('a Redis that dies is started again on its port, with its data', async () => {
  const stack = await start();
  const redis = new Redis(stack.redisUrl);
  redis.on('error', () => undefined);
  await redis.set('kept', 'yes');
  const { pid } = stack.process('redis');
  stack.process('redis').kill('SIGTERM');
  await waitFor(() => stack.process('redis').pid !== pid);
  expect(await redis.get('kept')).toBe('yes');
  redis.disconnect();
});

test('without restarts, an ended process stays ended', async () => {
  const stack = await start({ restarts: false });
  const edge = stack.process('edge');
  edge.kill('SIGTERM');
  expect(await edge.ended).toBe('exit code 0');
  expect(lines.at(-1)).toContain('stopping');
});

test('a process that cannot start ends the start with its reason, and leaves no process running', async () => {
  const failing = row('text', { entry: 'failing.ts' });
  const waiting = row('image', { entry: 'waiting.ts' });
  await expect(start({ processes: [failing, waiting] })).rejects.toThrow(
    'text did not start: SOME_KEY is not set.',
  );
  const data = join(folder.path, 'data');
  expect(isAlive(Number(await readFile(join(data, 'waiting.pid'), 'utf8')))).toBe(false);
  const redisPort = Number(/^port (\d+)$/m.exec(await readFile(join(data, 'redis/redis.conf'), 'utf8'))?.[1]);
  await expect(once(connect(redisPort, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED');
});

test('a stand-in provider that cannot start ends the start with its reason while services begin', async () => {
  const simulator = row('simulator', { entry: 'failing.ts', stage: 'upstream' });
  const waiting = row('image', { entry: 'waiting.ts' });
  await expect(start({ processes: [simulator, waiting, EDGE] })).rejects.toThrow(
    'simulator did not start: SOME_KEY is not set.',
  );
});

test('a taken port names its variable', async () => {
  const port = await freePort();
  const occupant = createServer().listen(port, '127.0.0.1');
  await once(occupant, 'listening');
  const starting = start({
    ports: 'fixed',
    env: { PORT: String(port), EDGE_METRICS_PORT: '0', SIMULATOR_PORT: '0' },
  });
  await expect(starting).rejects.toThrow(`Port ${port} is taken. Set PORT to another port.`);
  occupant.close();
});

test('a second stack in the same data folder is refused, and the first runs on', async () => {
  const first = await start();
  await expect(start()).rejects.toThrow(/already runs in .*data \(process \d+\)/);
  expect((await get(first.edgeUrl)).pid).toBe(first.process('edge').pid);
});

test('stop ends everything, and the next start has the same key and data', async () => {
  const first = await start();
  const redis = new Redis(first.redisUrl);
  await redis.set('kept', 'yes');
  redis.disconnect();
  const pids = first.processes.map(({ pid }) => pid);
  expect(pids.every(isAlive)).toBe(true);
  await first.stop();
  expect(pids.filter(isAlive)).toEqual([]);
  const second = await start();
  expect([second.key, second.adminToken]).toEqual([first.key, first.adminToken]);
  const again = new Redis(second.redisUrl);
  expect(await again.get('kept')).toBe('yes');
  again.disconnect();
});

test('a process that ignores SIGTERM is killed', async () => {
  const stack = await start({ env: { IGNORE_SIGTERM: 'yes' } });
  const { pid } = stack.process('edge');
  const stopping = stack.stop();
  await waitFor(() => lines.at(-1)?.includes('stopping'));
  await stack.end();
  await stopping;
  expect(isAlive(pid)).toBe(false);
});

test('a start that is aborted leaves no process running', async () => {
  const calledOff = new AbortController();
  const starting = start({
    processes: [row('text', { entry: 'waiting.ts' })],
    signal: calledOff.signal,
  });
  calledOff.abort();
  await expect(starting).rejects.toThrow();
  await start();
});

test('the Redis that REDIS_URL names is used, and not stopped at the end', async () => {
  const redis = await startRedis();
  const stack = await start({ env: { REDIS_URL: redis.url } });
  expect(stack.processes.map(({ name }) => name)).toEqual(['edge']);
  expect((await get(stack.edgeUrl)).env.REDIS_URL).toBe(redis.url);
  await stack.stop();
  expect(isAlive(redis.pid)).toBe(true);
  await redis.close();
});

test('a Redis that does not answer is reported in one clear sentence without its password', async () => {
  const port = await freePort();
  const starting = start({ env: { REDIS_URL: `redis://:hush@127.0.0.1:${port}` } });
  await expect(starting).rejects.toThrow(
    /^The Redis at 127\.0\.0\.1:\d+ \(REDIS_URL\) does not answer: .*ECONNREFUSED/,
  );
});

test('a Redis that refuses writes is reported with its reason', async () => {
  const redis = await startRedis({ lines: ['maxmemory 1'] });
  await expect(start({ env: { REDIS_URL: redis.url } })).rejects.toThrow(
    /^The Redis at 127\.0\.0\.1:\d+ \(REDIS_URL\) refuses writes: .*OOM/,
  );
  await redis.close();
});

test('a database that does not answer, or is none, is reported in one clear sentence without its password', async () => {
  const port = await freePort();
  const starting = start({ env: { DATABASE_URL: `postgres://gateway:hush@127.0.0.1:${port}/gateway` } });
  await expect(starting).rejects.toThrow(
    /^The PostgreSQL at 127\.0\.0\.1:\d+\/gateway \(DATABASE_URL\) cannot be used: .*ECONNREFUSED.* Start or repair it, or correct the URL\.$/,
  );
  await expect(start({ env: { DATABASE_URL: 'mysql://gateway:hush@127.0.0.1/gateway' } })).rejects.toThrow(
    /^DATABASE_URL is not a postgres:\/\/ URL, such as [^ ]+$/,
  );
});

test('a mistake in the configuration ends the start with its own message', async () => {
  const configurationPath = join(folder.path, 'missing.yaml');
  await expect(start({ configurationPath })).rejects.toThrow('missing.yaml has one mistake');
});

test('a starter that is killed outright leaves no process running, and its folder can be used', async () => {
  const dataDir = join(folder.path, 'data');
  const starter = fork(join(FIXTURES, 'start-stack.ts'), [dataDir], { execArgv: [] });
  const [pids] = await once(starter, 'message');
  expect(pids).toHaveLength(2);
  expect(pids.every(isAlive)).toBe(true);
  starter.kill('SIGKILL');
  await waitFor(() => !pids.some(isAlive));
  await start({ dataDir });
});
