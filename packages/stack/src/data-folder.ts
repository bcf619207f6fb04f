import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, lstat, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorMessage } from '@gateway/contracts/error-message';
import { StartError } from './start-error.ts';

export interface DataFolder {
  /** Absolute. */
  readonly path: string;
  /** Releases it. */
  release(): Promise<void>;
}

const LOCK_FILE = 'running.pid';
const ATTEMPTS = 3;
/** Permissions of the group and of everybody. */
const OF_OTHERS = 0o077;

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
    await closeToOthers(path);
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
    const reason = errorMessage(error);
    throw new StartError(
      `The data folder ${path} cannot be used (${reason}). Set GATEWAY_DATA_DIR to another one.`,
    );
  }
  throw new StartError(`Several starts are using the data folder ${path} at once. Try again.`);
}

/**
 * Takes the folder and all that is in it from other users, where it was made with an open mask or by hand. What belongs to somebody
 * else stays as it is.
 */
async function closeToOthers(folder: string): Promise<void> {
  const { mode } = await stat(folder);
  await restrict(folder);
  const secrets = join(folder, 'secrets');
  // Nobody else reaches what is in a closed folder; the secrets are looked at all the same.
  const from = isOpen(mode) ? folder : secrets;
  const names = await readdir(from, { recursive: true }).catch(() => []);
  for (const name of ['', ...names]) await restrict(join(from, name));
}

const isOpen = (mode: number): boolean => (mode & OF_OTHERS) !== 0;

async function restrict(path: string): Promise<void> {
  try {
    const { mode } = await lstat(path);
    // A link has no mode of its own: what it leads to may lie elsewhere.
    if (isOpen(mode) && (mode & constants.S_IFMT) !== constants.S_IFLNK) await chmod(path, mode & 0o700);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'EPERM' && code !== 'ENOENT') throw error;
  }
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

/**
 * Distinguishes a process from a later one with the same id by its start, in clock ticks since the machine's start.
 * Empty where the system does not report it (no /proc) or there is no such process.
 * @see man 5 proc_pid_stat, field 22; the second field may hold spaces and parentheses
 */
export async function startTimeOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** In the data folder, for the command line: the address of the running gateway's admin service, and the key that proves it. */
const FILE = 'admin.json';

export const newInstanceKey = (): string => randomBytes(32).toString('base64url');

/** Written to another file and moved, so that no reader sees half a record. Only this user can read it. */
export async function writeAdminRecord(
  dataFolder: string,
  record: { readonly url: string; readonly instanceKey: string },
): Promise<void> {
  const file = join(dataFolder, FILE);
  await writeFile(`${file}.new`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

export const removeAdminRecord = (dataFolder: string): Promise<void> =>
  rm(join(dataFolder, FILE), { force: true });
