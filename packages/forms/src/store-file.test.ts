import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { expect, onTestFinished, test } from 'vitest';
import { storeFile } from './store-file.ts';

test('a file whose sender leaves at once does not appear after it was deleted', async () => {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.close());
  const tooLarge = () => new Error('too large');
  const storing = Array.from({ length: 100 }, async (_, index) => {
    const source = new PassThrough();
    const path = join(folder.path, `file-${index}`);
    const stored = storeFile(source, { path, maxBytes: 100, tooLarge });
    source.destroy(new Error('the caller left'));
    await expect(stored).rejects.toThrow('the caller left');
    await rm(path, { force: true });
  });
  await Promise.all(storing);
  expect(await readdir(folder.path)).toEqual([]);
});
