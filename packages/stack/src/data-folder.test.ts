import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TemporaryFolder, temporaryFolder } from '@gateway/testkit/temporary-folder';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDataFolder, startTimeOf } from './data-folder.ts';
import { loadSecrets } from './secrets.ts';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.close());

const lock = (content: string) => writeFile(join(folder.path, 'running.pid'), content);

test('a folder that others could read is theirs no longer, with all that is in it', async () => {
  const paths = ['secrets', 'secrets/admin-token', 'assets', 'assets/picture.png'];
  for (const path of paths)
    await (path.includes('.') || path.endsWith('token')
      ? writeFile(join(folder.path, path), 'x', { mode: 0o644 })
      : mkdir(join(folder.path, path), { mode: 0o755 }));
  await chmod(folder.path, 0o755);
  const held = await openDataFolder(folder.path);
  const modes = await Promise.all(
    ['.', ...paths].map(async (path) => (await stat(join(folder.path, path))).mode & 0o777),
  );
  expect(modes).toEqual([0o700, 0o700, 0o600, 0o700, 0o600]);
  await held.release();
});

test('secrets are closed to others also in a folder that is', async () => {
  await mkdir(join(folder.path, 'secrets'), { mode: 0o755 });
  await writeFile(join(folder.path, 'secrets/admin-token'), 'x', { mode: 0o644 });
  await chmod(folder.path, 0o700);
  await (await openDataFolder(folder.path)).release();
  expect((await stat(join(folder.path, 'secrets'))).mode & 0o777).toBe(0o700);
  expect((await stat(join(folder.path, 'secrets/admin-token'))).mode & 0o777).toBe(0o600);
});

test('one process holds a folder until it releases it', async () => {
  const held = await openDataFolder(folder.path);
  await expect(openDataFolder(folder.path)).rejects.toThrow(
    `already runs in ${folder.path} (process ${process.pid})`,
  );
  await held.release();
  await (await openDataFolder(folder.path)).release();
});

test('the lock of a process that is gone does not count', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  await lock(`${child.pid} 12345`);
  await (await openDataFolder(folder.path)).release();
});

test('the lock of an earlier process with the same id does not count', async () => {
  expect(await startTimeOf(process.pid)).toMatch(/^\d*$/);
  await lock(`${process.pid} 12345`);
  await (await openDataFolder(folder.path)).release();
});

test('a lock that was not written whole does not count', async () => {
  await lock('');
  await (await openDataFolder(folder.path)).release();
});

test('an error for a folder that cannot be made is one clear sentence', async () => {
  await writeFile(join(folder.path, 'file'), '');
  await expect(openDataFolder(join(folder.path, 'file/data'))).rejects.toThrow(
    /data folder .* cannot be used .*GATEWAY_DATA_DIR/,
  );
});

test('secrets are made once, readable by this user only, and the environment overrides them', async () => {
  const first = await loadSecrets(folder.path, {});
  expect(first.bootstrapKey).toMatch(/^gwb_[\w-]{43}$/);
  expect(new Set(Object.values(first)).size).toBe(5);
  expect(await loadSecrets(folder.path, {})).toEqual(first);
  expect((await stat(join(folder.path, 'secrets/gateway-secret'))).mode & 0o777).toBe(0o600);
  const given = await loadSecrets(folder.path, { GATEWAY_ADMIN_TOKEN: 'given', GATEWAY_SECRET: '' });
  expect(given).toEqual({ ...first, adminToken: 'given' });
});
