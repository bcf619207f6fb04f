import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

const FOLDERS = ['/usr/sbin', '/usr/bin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin'];
const INSTALL_TIMEOUT_MS = 300_000;
const LOCK = 'DPkg::Lock::Timeout=120';

async function lookFor(name: string): Promise<string | undefined> {
  for (const folder of FOLDERS) {
    const path = `${folder}/${name}`;
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}

/**
 * A program of this machine that tests are made with; if it is missing and this user may, apt-get installs Debian's package of the
 * same name first, as it is done with Redis.
 *
 * @throws {Error} with what to install
 */
export async function findProgram(name: string): Promise<string> {
  const look = () => lookFor(name);
  return (await look()) ?? installProgram(name, look);
}

/** Installs Debian's package, and looks for its program again. @throws {Error} with what to install */
export async function installProgram(name: string, look: () => Promise<string | undefined>): Promise<string> {
  const advice = `Install ${name} (Debian and Ubuntu: apt-get install ${name}).`;
  if (process.getuid?.() !== 0) throw new Error(`${name} is missing. ${advice}`);
  const options = { timeout: INSTALL_TIMEOUT_MS };
  try {
    // A package list that cannot be refreshed may still be good enough.
    await run('apt-get', ['update', '-qq'], options).catch(() => undefined);
    const install = ['install', '-y', '-qq', '--no-install-recommends', '-o', LOCK, name];
    await run('env', ['DEBIAN_FRONTEND=noninteractive', 'apt-get', ...install], options);
  } catch (cause) {
    throw new Error(`Installing ${name} with apt-get failed. ${advice}`, { cause });
  }
  const installed = await look();
  if (installed === undefined) throw new Error(`${name} is missing. ${advice}`);
  return installed;
}
