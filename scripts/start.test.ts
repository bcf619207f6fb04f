import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { COMPILE_CACHE } from '../packages/stack/src/compile-cache.ts';

/** A copy of the scripts whose installation only prints a line, with its own PATH. */
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'start-'));
  await mkdir(join(folder, 'scripts'));
  await mkdir(join(folder, 'bin'));
  for (const name of ['start.sh', 'check-redis.sh'])
    await copyFile(join(import.meta.dirname, name), join(folder, 'scripts', name));
  await writeFile(join(folder, 'scripts/with-toolchain.sh'), 'echo installing\n');
  await program('id', 'echo 1000');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function program(name: string, script: string): Promise<void> {
  const path = join(folder, 'bin', name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}
const redis = (name: string, version: string) =>
  program(name, `echo 'Redis server v=${version} sha=0:0 bits=64'`);

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** The tools of a shell, but no Redis: a machine may have one. */
async function start(args: readonly string[] = [], env: Record<string, string> = {}): Promise<Ended> {
  for (const tool of ['sed', 'grep', 'dirname', 'cat', 'sh'])
    await program(tool, `exec /usr/bin/env -i PATH=/usr/bin:/bin ${tool} "$@"`);
  await program('sh', 'exec /bin/sh "$@"');
  const options = { env: { PATH: join(folder, 'bin'), ...env } };
  return new Promise((resolve) => {
    execFile('/bin/sh', [join(folder, 'scripts/start.sh'), ...args], options, (error, out, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, error: stderr }),
    );
  });
}

const ADVICE =
  /Install redis-server or valkey-server 6\.2 or newer .* or set REDIS_URL to a Redis that is already running\.\n$/;

test('a person who may not install Redis gets an error about it, before anything is installed', async () => {
  const { code, out, error } = await start();
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(error).toMatch(/^Redis is not installed here\.\n/);
  expect(error).toMatch(ADVICE);
  await redis('redis-server', '6.0.16');
  expect((await start()).error).toMatch(/^Redis is too old here \(redis-server 6\.0\)\.\n/);
});

test('the advice is the same as when Redis is missing later', async () => {
  const file = join(import.meta.dirname, '../packages/redis-server/src/ensure-redis-server.ts');
  const advice = /'(Install redis-server or .*)';/.exec(await readFile(file, 'utf8'))?.[1];
  expect((await start()).error).toContain(advice);
});

test.for([
  ['a server that is new enough', (): Promise<void> => redis('redis-server', '6.2.0'), {}],
  [
    'Valkey beside a Redis that is too old',
    async () => {
      await redis('redis-server', '6.0.16');
      await redis('valkey-server', '8.0.1');
    },
    {},
  ],
  ['a Redis in the environment', async (): Promise<void> => undefined, { REDIS_URL: 'redis://127.0.0.1' }],
  [
    'a Redis in the file .env',
    (): Promise<void> => writeFile(join(folder, '.env'), 'PORT=1\nREDIS_URL="redis://127.0.0.1"\n'),
    {},
  ],
  [
    'root on a machine with apt-get',
    async () => {
      await program('id', 'echo 0');
      await program('apt-get', '');
    },
    {},
  ],
] as const)('%s is enough to continue', async ([, prepare, env]) => {
  await prepare();
  expect(await start([], env)).toEqual({ code: 0, out: 'installing\n', error: '' });
});

test('an empty REDIS_URL counts as unset', async () => {
  await writeFile(join(folder, '.env'), '#REDIS_URL=redis://127.0.0.1\nREDIS_URL=\n');
  expect(await start([], { REDIS_URL: '' })).toMatchObject({ code: 1 });
});

test('--help helps, and an unknown argument is refused, without installing anything', async () => {
  expect(await start(['--help'])).toMatchObject({
    code: 0,
    error: '',
    out: expect.stringContaining('Usage: npm start'),
  });
  expect(await start(['--port=8180'])).toEqual({
    code: 2,
    out: '',
    error:
      'npm start takes no argument --port=8180; settings are variables, such as PORT=8180 npm start. See npm start -- --help.\n',
  });
});

test('the starter runs with the cache of the other processes from its first file on, or with the one that is set', async () => {
  await writeFile(
    join(folder, 'scripts/with-toolchain.sh'),
    'echo "$NODE_COMPILE_CACHE"; printf "%s\\n" "$@"\n',
  );
  const env = { REDIS_URL: 'redis://127.0.0.1' };
  const own = relative(join(import.meta.dirname, '..'), COMPILE_CACHE);
  const run = (cache: string) =>
    `\nenv\nNODE_COMPILE_CACHE=${cache}\nnode\n${folder}/packages/stack/src/main.ts\n`;
  expect((await start([], env)).out).toBe(run(join(folder, own)));
  expect((await start([], { ...env, NODE_COMPILE_CACHE: '/cache' })).out).toBe(`/cache${run('/cache')}`);
});
