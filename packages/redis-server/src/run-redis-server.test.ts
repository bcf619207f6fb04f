import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensureRedisServer } from './ensure-redis-server.ts';
import { type RedisServer, runRedisServer } from './run-redis-server.ts';

let folder: string;
let command: string;
const running: RedisServer[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'redis-server-test-'));
  ({ command } = await ensureRedisServer(() => undefined));
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
  await rm(folder, { recursive: true, force: true });
});

const run = async (options: Partial<Parameters<typeof runRedisServer>[0]> = {}) => {
  const server = await runRedisServer({ command, folder, durability: 'none', ...options });
  running.push(server);
  return server;
};

/** One inline command; the first line of the answer. */
async function send(port: number, ...commands: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.end(`${commands.join('\r\n')}\r\nQUIT\r\n`);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('a server answers on its own port, and has ended after stop', async () => {
  const server = await run();
  expect(await send(server.port, 'PING')).toContain('+PONG');
  await server.stop();
  expect(isAlive(server.pid)).toBe(false);
});

test('the password is required and is in a file that only this user can read', async () => {
  const server = await run({ password: 'a "quoted" secret' });
  expect(await send(server.port, 'PING')).toContain('NOAUTH');
  expect(await send(server.port, String.raw`AUTH "a \"quoted\" secret"`, 'PING')).toContain('+PONG');
  expect((await stat(join(folder, 'redis.conf'))).mode & 0o777).toBe(0o600);
  expect(await readFile(`/proc/${server.pid}/cmdline`, 'utf8').catch(() => '')).not.toContain('secret');
});

test('append-only data survives a restart in the same folder', async () => {
  const first = await run({ durability: 'append-only' });
  await send(first.port, 'SET kept yes');
  await first.stop();
  const second = await run({ durability: 'append-only' });
  expect(await send(second.port, 'GET kept')).toContain('yes');
  expect(await send(second.port, 'CONFIG GET maxmemory-policy')).toContain('noeviction');
});

test('a frozen server is stopped too', async () => {
  const server = await run();
  server.kill('SIGSTOP');
  await server.stop();
  expect(isAlive(server.pid)).toBe(false);
});

test('a server that cannot start is an error with the reason', async () => {
  const first = await run();
  await expect(run({ port: first.port, folder: join(folder, 'second') })).rejects.toThrow(
    /did not start.*in use/is,
  );
});

test('a command that does not exist is an error, not a crash', async () => {
  await expect(run({ command: 'no-such-redis-server' })).rejects.toThrow(/did not start.*ENOENT/s);
});

test('a server ends when its starter is killed outright', async () => {
  const script = join(folder, 'starter.ts');
  const module = join(import.meta.dirname, 'run-redis-server.ts');
  await writeFile(
    script,
    `import { runRedisServer } from ${JSON.stringify(module)};
     const server = await runRedisServer({ command: ${JSON.stringify(command)}, folder: ${JSON.stringify(folder)}, durability: 'none' });
     process.send?.(server.pid);`,
  );
  const starter = fork(script, { execArgv: [] });
  const [pid] = await once(starter, 'message');
  expect(isAlive(pid)).toBe(true);
  starter.kill('SIGKILL');
  while (isAlive(pid)) await delay(10);
});
