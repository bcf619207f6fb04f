import { rm, stat } from 'node:fs/promises';
import { toStorageError } from '@gateway/assets/storage-error';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { createTaskThread } from '@gateway/service-kit/threads/task-thread';
import type { InvertTask } from './invert-alpha-thread.ts';

const thread = createTaskThread<InvertTask, null>({
  module: new URL('./invert-alpha-thread.ts', import.meta.url),
  timeLimitMs: 20_000,
  // A few lines and the code that reads them.
  maxHeapMb: 64,
  onTooMuch: () =>
    new GatewayError('invalid_mask_image_format', {
      path: ['mask'],
      message: 'Inverting the mask takes too long. Send a smaller one.',
    }),
});

/**
 * Writes a copy of a PNG whose transparent pixels are opaque and the other way round; colours stay. It is done in a thread, one
 * picture at a time in a process, within a time limit. Resolves to the copy's size.
 *
 * @throws {GatewayError} `invalid_mask_image_format` for a PNG that cannot be read, decodes to too much or takes too long;
 *   `storage_full`
 */
export async function invertAlpha(sourcePath: string, targetPath: string): Promise<{ sizeBytes: number }> {
  try {
    await thread.run({ sourcePath, targetPath });
    return { sizeBytes: (await stat(targetPath)).size };
  } catch (error) {
    await rm(targetPath, { force: true });
    throw error instanceof GatewayError ? error : toStorageError(error);
  }
}
