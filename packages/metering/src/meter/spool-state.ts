import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SPOOL_FOLDER, SPOOLED } from './usage-spool.ts';

/** What waits on disk because Redis did not take it. */
export interface SpoolState {
  readonly files: number;
  readonly bytes: number;
  /** When the oldest file was begun, in Unix milliseconds; null: nothing waits. */
  readonly oldestMs: number | null;
}

/** Looks at the spools in a data folder: of all processes that share it. */
export async function readSpoolState(dataFolder: string): Promise<SpoolState> {
  const folder = join(dataFolder, SPOOL_FOLDER);
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(
    // A file may be gone meanwhile: it was replayed.
    names.filter((name) => SPOOLED.test(name)).map((name) => stat(join(folder, name)).catch(() => null)),
  );
  const files = found.flatMap((file) => (file === null || file.size === 0 ? [] : [file]));
  return {
    files: files.length,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    oldestMs: files.length === 0 ? null : Math.min(...files.map(beginOf)),
  };
}

/** Not every file system knows when a file was made. */
const beginOf = ({ birthtimeMs, mtimeMs }: { birthtimeMs: number; mtimeMs: number }): number =>
  birthtimeMs > 0 ? Math.min(birthtimeMs, mtimeMs) : mtimeMs;
