import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureRedisServer } from '@gateway/redis-server/ensure-redis-server';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import { ONE_PROVIDER } from '../support/configuration.ts';
import { startGateway } from '../support/start-gateway.ts';
import { ACCOUNTS, startClouds } from './clouds.ts';

/**
 * `npm run python-clients`: the vendors' Python clients against the simulated clouds, which proves the simulator, and the ordinary ones
 * against a gateway. They are installed from PyPI, at the versions in `requirements.txt`, into a virtual environment beside this file; what is
 * there already is not fetched again. Needs Python 3.11 or newer.
 */

const HERE = fileURLToPath(new URL('.', import.meta.url));
const CLIENTS = join(HERE, 'node_modules', '.clients');
const PYTHON = join(CLIENTS, 'bin', 'python');
const IS_NEW_ENOUGH = 'import sys; sys.exit(sys.version_info < (3, 11))';

const WITH_VOICE = (origin: string): string =>
  `${ONE_PROVIDER(origin)}  gpt-realtime: { kind: realtime, routes: [{ channel: provider }] }\n`;

process.exitCode = isInstalled() ? await runChecks() : 1;

function isInstalled(): boolean {
  if (!isDone('python3', ['-c', IS_NEW_ENOUGH]))
    return failed('python3 is missing or older than 3.11. Install Python 3.11 or newer.');
  if (!isDone('python3', ['-m', 'venv', CLIENTS]))
    return failed('python3 cannot make a virtual environment. Install the package python3-venv.');
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement'];
  if (!isDone(PYTHON, [...install, join(HERE, 'requirements.txt')]))
    return failed(
      'The Python clients cannot be installed from PyPI. Check the network, and what pip says above.',
    );
  return true;
}

function isDone(file: string, args: readonly string[]): boolean {
  return spawnSync(file, args, { stdio: 'inherit' }).status === 0;
}

function failed(why: string): false {
  console.error(why);
  return false;
}

async function runChecks(): Promise<number> {
  await ensureRedisServer((line) => console.log(line));
  await using resources = new AsyncDisposableStack();
  const clouds = await startClouds(resources);
  const gateway = resources.adopt(await startGateway({ configuration: WITH_VOICE }), (owned) =>
    owned.close(),
  );
  const home = resources.adopt(await temporaryFolder(), (owned) => owned.close());
  const child = spawn(PYTHON, [join(HERE, 'checks', 'main.py')], {
    // Nothing of ours but the path: no keys, no profiles, no proxy.
    env: { PATH: process.env.PATH, HOME: home.path, NO_PROXY: '*', PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  child.stdin.end(
    JSON.stringify({ clouds, accounts: ACCOUNTS, gateway: { url: gateway.url, key: gateway.key } }),
  );
  const [code] = await once(child, 'close');
  return Number(code ?? 1);
}
