import { unlink } from 'node:fs/promises';

/** What an operation on a file has found; undefined where there is no such file. */
export async function unlessMissing<Value>(found: Promise<Value>): Promise<Value | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Removes a file that may be gone already. `rm` would look at it first. */
export const removeFile = (path: string): Promise<void> => unlessMissing(unlink(path));
