import { expect, test } from 'vitest';
import { FileBlocks, TooManySteps } from './file-blocks.ts';

/** A file of so many bytes, and how much of it was read. */
function countedFile(sizeBytes: number) {
  const file = {
    readBytes: 0,
    read: async (buffer: Buffer, _offset: number, length: number, position: number) => {
      const bytesRead = Math.max(0, Math.min(length, sizeBytes - position));
      file.readBytes += bytesRead;
      return { buffer, bytesRead };
    },
  };
  return file;
}

test('however many pieces are taken, every byte of a file is read about once', async () => {
  const file = countedFile(1_000_000);
  const blocks = new FileBlocks(file, 200_000);
  for (let position = 0; position + 8 <= 1_000_000; position += 8)
    expect((await blocks.bytesAt(position, 8))?.length).toBe(8);
  expect(file.readBytes).toBeLessThan(1_001_000);
  expect(await blocks.bytesAt(999_999, 2)).toBeUndefined();
  expect((await blocks.upTo(999_999, 2)).length).toBe(1);
});

test('the number of pieces is bounded', async () => {
  const blocks = new FileBlocks(countedFile(100), 2);
  await blocks.upTo(0, 1);
  await blocks.upTo(1, 1);
  await expect(blocks.upTo(2, 1)).rejects.toThrow(TooManySteps);
});
