import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NOTHING_CONSUMED } from '@gateway/contracts/usage/usage-record';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { beforeEach, expect, test } from 'vitest';
import { openUsageSpool, type SpooledUsage, type UsageSpool } from './usage-spool.ts';

/** What becomes of usage when neither Redis nor the disk takes it. */

let folder: string;
beforeEach(async () => {
  const owned = await temporaryFolder();
  folder = join(owned.path, 'usage-spool');
  return () => owned.close();
});

const usage = (id: string): SpooledUsage => ({
  record: {
    id,
    keyId: 'key_1',
    team: null,
    endpoint: 'responses',
    model: 'gpt-5',
    startedAtMs: 1,
    outcome: 'ok',
    channel: 'openai',
    attempts: 1,
    durationMs: 1,
    firstByteMs: null,
    consumption: NOTHING_CONSUMED,
    estimated: false,
    costMicroUsd: 5,
  },
});

async function replayed(spool: UsageSpool): Promise<string[]> {
  const ids: string[] = [];
  await spool.replay(async ({ record }) => void ids.push(record.id));
  return ids;
}

// Only Linux has a file that is always full.
test.runIf(process.platform === 'linux')(
  'a full disk loses no usage, and takes more when it has free space',
  async () => {
    const spool = await openUsageSpool(folder, 'a', Date.now);
    await symlink('/dev/full', join(folder, 'a.open.ndjson'));
    await expect(spool.add(usage('one'))).rejects.toMatchObject({ code: 'ENOSPC' });
    await rm(join(folder, 'a.open.ndjson'));
    await spool.add(usage('two'));
    expect(await replayed(spool)).toEqual(['one', 'two']);
    expect(await replayed(spool)).toEqual([]);
  },
);

test('usage after a line that was half written is kept', async () => {
  const spool = await openUsageSpool(folder, 'a', Date.now);
  await rm(folder, { recursive: true });
  await expect(spool.add(usage('one'))).rejects.toMatchObject({ code: 'ENOENT' });
  await mkdir(folder);
  await writeFile(join(folder, 'a.open.ndjson'), JSON.stringify(usage('one')).slice(0, 20));
  await spool.add(usage('two'));
  expect(await replayed(spool)).toEqual(['one', 'two']);
});

test('a replay that fails halfway loses nothing that is held', async () => {
  const spool = await openUsageSpool(folder, 'a', Date.now);
  await rm(folder, { recursive: true });
  for (const id of ['one', 'two']) await expect(spool.add(usage(id))).rejects.toThrow();
  await mkdir(folder);
  const refuse = async () => Promise.reject(new Error('Redis is away'));
  await expect(spool.replay(refuse)).rejects.toThrow('Redis is away');
  expect(await replayed(spool)).toEqual(['one', 'two']);
});
