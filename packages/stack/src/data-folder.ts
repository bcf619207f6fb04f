import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isAlive, startTimeOf } from './process-identity.ts';
import { StartError } from './start-error.ts';

export interface DataFolder {
  /** Absolute. */
  readonly path: string;
  /** Releases it. */
  release(): Promise<void>;
}

const LOCK_FILE = 'running.pid';
const ATTEMPTS = 3;

/**
 * The folder with everything that must survive a restart, for one stack at a time.
 * @throws StartError if another one runs in it, or it cannot be written.
 */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  const path = resolve(folder);
  const lockFile = join(path, LOCK_FILE);
  const ours = `${process.pid} ${await startTimeOf(process.pid)}`;
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      if (await createFile(lockFile, ours)) return { path, release: () => rm(lockFile, { force: true }) };
      const [pid = 0, startTime = ''] = (await readFile(lockFile, 'utf8').catch(() => '')).split(' ');
      const holder = Number(pid);
      if (holder > 0 && isAlive(holder) && (await startTimeOf(holder)) === startTime)
        throw new StartError(
          `The gateway already runs in ${path} (process ${holder}). Stop it first, or set GATEWAY_DATA_DIR to another folder.`,
        );
      await rm(lockFile, { force: true });
    }
  } catch (error) {
    if (error instanceof StartError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `The data folder ${path} cannot be used (${reason}). GATEWAY_DATA_DIR names another one.`,
    );
  }
  throw new StartError(`Several starts use the data folder ${path} at the same moment. Try again.`);
}

/** False if there is such a file already. */
async function createFile(path: string, content: string): Promise<boolean> {
  try {
    await writeFile(path, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}
