import { open, readFile, rm, writeFile } from 'node:fs/promises';
import type { UploadStore } from '../upload-store.ts';

/**
 * Says beside a job's input that its work has begun, and in which worker. It stands whatever becomes of Redis, which may have lost
 * the job or have come back with an older state, and goes with the input.
 */
export interface BegunMarks {
  /** The worker that began it; undefined where nobody has. */
  begunBy(inputId: string): Promise<string | undefined>;
  /** Resolves to false where somebody has begun before. */
  begin(inputId: string, workerId: string): Promise<boolean>;
  /** The attempt is over, and another may begin. */
  clear(inputId: string): Promise<void>;
}

export function createBegunMarks({ begunPathOf }: Pick<UploadStore, 'begunPathOf'>): BegunMarks {
  return {
    begunBy: async (inputId) => {
      try {
        return await readFile(begunPathOf(inputId), 'utf8');
      } catch (error) {
        if (isErrorOf(error, 'ENOENT')) return undefined;
        throw error;
      }
    },
    begin: async (inputId, workerId) => {
      try {
        const file = await open(begunPathOf(inputId), 'wx');
        try {
          await writeFile(file, workerId);
          await file.sync();
        } finally {
          await file.close();
        }
        return true;
      } catch (error) {
        if (isErrorOf(error, 'EEXIST')) return false;
        throw error;
      }
    },
    clear: (inputId) => rm(begunPathOf(inputId), { force: true }),
  };
}

const isErrorOf = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
