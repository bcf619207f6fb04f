import { once } from 'node:events';
import { rm, stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { toStorageError } from '@gateway/assets/storage-error';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { z } from 'zod';

/** What a thread answers: null, or why the picture is refused. */
const Inverted = z.object({ refused: z.string().nullable() });
export type Inverted = z.infer<typeof Inverted>;

const TIME_LIMIT_MS = 20_000;
/** A few lines and the code that reads them. */
const MAX_HEAP_MB = 64;
const THREAD = new URL('./invert-alpha-thread.ts', import.meta.url);

/** The last one in this process: they are inverted one at a time. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Writes a copy of a PNG whose transparent pixels are opaque and the other way round; colours stay. It is done in a thread, one
 * picture at a time in a process, within a time limit. Resolves to the copy's size.
 *
 * @throws {GatewayError} `invalid_mask_image_format` for a PNG that cannot be read, decodes to too much or takes too long;
 *   `storage_full`
 */
export function invertAlpha(sourcePath: string, targetPath: string): Promise<{ sizeBytes: number }> {
  const inverted = last.then(() => invertInThread(sourcePath, targetPath));
  last = inverted.catch(() => undefined);
  return inverted;
}

async function invertInThread(sourcePath: string, targetPath: string): Promise<{ sizeBytes: number }> {
  const worker = new Worker(THREAD, {
    workerData: { sourcePath, targetPath },
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    execArgv: [],
  });
  // What comes after its answer changes nothing.
  worker.on('error', () => undefined);
  try {
    const { refused } = await answerOf(worker).finally(() => worker.terminate());
    if (refused !== null) throw refusal(refused);
    return { sizeBytes: (await stat(targetPath)).size };
  } catch (error) {
    await rm(targetPath, { force: true });
    throw error instanceof GatewayError ? error : toStorageError(error);
  }
}

async function answerOf(worker: Worker): Promise<Inverted> {
  const timeLimit = AbortSignal.timeout(TIME_LIMIT_MS);
  try {
    const [answer]: unknown[] = await once(worker, 'message', { signal: timeLimit });
    return Inverted.parse(answer);
  } catch (error) {
    if (timeLimit.aborted) throw refusal('The mask takes too long to be inverted. Send a smaller one.');
    throw error;
  }
}

const refusal = (message: string): GatewayError =>
  new GatewayError('invalid_mask_image_format', { path: ['mask'], message });
