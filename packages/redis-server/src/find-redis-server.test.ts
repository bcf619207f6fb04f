import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findRedisServer, isNewEnough } from './find-redis-server.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'find-redis-test-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function program(name: string, output: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\necho '${output}'\n`);
  await chmod(path, 0o755);
  return path;
}

test.for([
  ['6.0.16', false],
  ['6.2.0', true],
  ['7.0.15', true],
  ['10.1.0', true],
  ['5.9.9', false],
] as const)('version %s is new enough: %s', ([version, expected]) => {
  expect(isNewEnough(version)).toBe(expected);
});

test('the first program that is new enough is taken, and older ones are named', async () => {
  const old = await program(
    'redis-server',
    'Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64',
  );
  const valkey = await program(
    'valkey-server',
    'Valkey server v=8.0.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64',
  );
  expect(await findRedisServer([old, valkey])).toEqual({
    found: { command: valkey, version: '8.0.1' },
    tooOld: [{ command: old, version: '6.0.16' }],
  });
});

test('a program that is missing, or is something else, is not found', async () => {
  const other = await program('redis-server', 'hello');
  expect(await findRedisServer([join(folder, 'missing'), other])).toEqual({ found: undefined, tooOld: [] });
});
