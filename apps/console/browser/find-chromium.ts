import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { promisify } from 'node:util';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const INSTALL_TIMEOUT_MS = 300_000;
const ADVICE =
  'Install Chromium (Debian and Ubuntu: apt-get install chromium), or set CHROMIUM_PATH to a Chromium or Chrome of this machine.';

const run = promisify(execFile);

async function firstOf(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}

/**
 * The browser of this machine; if there is none and this user may, apt-get installs Debian's first, as it is done with Redis.
 *
 * @param given a path that the person named
 * @throws {Error} with what to install
 */
export async function findChromium(given: string | undefined): Promise<string> {
  const places = given === undefined || given === '' ? PLACES : [given];
  const found = await firstOf(places);
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0 || places !== PLACES) throw new Error(`There is no browser here. ${ADVICE}`);
  const options = { timeout: INSTALL_TIMEOUT_MS };
  try {
    // A package list that cannot be refreshed may still be good enough.
    await run('apt-get', ['update', '-qq'], options).catch(() => undefined);
    const install = [
      'install',
      '-y',
      '-qq',
      '--no-install-recommends',
      '-o',
      'DPkg::Lock::Timeout=120',
      'chromium',
    ];
    await run('env', ['DEBIAN_FRONTEND=noninteractive', 'apt-get', ...install], options);
  } catch (cause) {
    throw new Error(`Installing Chromium with apt-get failed. ${ADVICE}`, { cause });
  }
  const installed = await firstOf(PLACES);
  if (installed === undefined) throw new Error(`There is no browser here. ${ADVICE}`);
  return installed;
}
