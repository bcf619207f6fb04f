import { findRedisServer, type RedisProgram } from './find-redis-server.ts';
import { runProgram } from './run-program.ts';
import { RedisServerError } from './run-redis-server.ts';

const INSTALL_TIMEOUT_MS = 300_000;
const APT_OPTIONS = ['-y', '-qq', '-o', 'DPkg::Lock::Timeout=120'];
const ADVICE =
  'Install redis-server or valkey-server 6.2 or newer (Debian and Ubuntu: apt-get install redis-server; macOS: brew install redis), or set REDIS_URL to a Redis that is already running.';

/**
 * The server program of this machine; if there is none and this user may, apt-get installs it first.
 * @param report gets a sentence for the person before an action that takes a while.
 * @throws RedisServerError with what to install.
 */
export async function ensureRedisServer(report: (line: string) => void): Promise<RedisProgram> {
  const { found, tooOld } = await findRedisServer();
  if (found) return found;
  const old = tooOld.map(({ command, version }) => `${command} ${version}`).join(', ');
  const missing = old ? `Redis is too old here (${old}).` : 'Redis is not installed here.';
  if (!(await mayInstall())) throw new RedisServerError(`${missing} ${ADVICE}`);

  report('Installing redis-server with apt-get (this time only) …');
  // A package list that cannot be refreshed may still be good enough.
  await runProgram('apt-get', ['update', '-qq'], INSTALL_TIMEOUT_MS);
  const packageName = 'redis-server';
  const { output } = await runProgram(
    'env',
    ['DEBIAN_FRONTEND=noninteractive', 'apt-get', 'install', ...APT_OPTIONS, packageName],
    INSTALL_TIMEOUT_MS,
  );
  const installed = (await findRedisServer()).found;
  if (installed) return installed;
  const reason = output.trim().split('\n').at(-1) ?? '';
  throw new RedisServerError(`${missing} Installing it with apt-get failed (${reason}). ${ADVICE}`);
}

async function mayInstall(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  return (await runProgram('apt-get', ['--version'], 10_000)).code === 0;
}
