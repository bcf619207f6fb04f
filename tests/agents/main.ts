import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureRedisServer } from '@gateway/redis-server/ensure-redis-server';
import { startGateway } from '../support/start-gateway.ts';
import { AGENTS } from './agents.ts';
import { runTask } from './run-task.ts';
import { configuration, startUpstreams } from './upstreams.ts';

/**
 * `npm run agents`: real coding agents do a task with their real shell through a real gateway, over each upstream
 * protocol and the clouds. `--all` has every agent do it over every upstream, `--over NAME` over those that are named. They are installed from the npm registry, and then run in a network namespace that has nothing but its own
 * loopback, so that they reach the gateway and nobody else. Needs Linux and root (for the namespace).
 */

const PACKAGES = join(fileURLToPath(new URL('.', import.meta.url)), 'node_modules', '.agents');

/** Brings up the namespace's loopback; Debian's smallest systems lack it. */
const INSTALL_IP =
  'command -v ip >/dev/null || { apt-get update -qq && apt-get install -y -qq iproute2 >/dev/null; }';

/** Set inside the namespace. */
const INSIDE = 'GATEWAY_AGENTS_INSIDE';

/** The gateway with and without WebSockets: an agent that prefers one has to continue over HTTP. */
const WEBSOCKETS = ['true', 'false'] as const;

if (process.env[INSIDE] === undefined) process.exitCode = await installAndEnter();
else process.exitCode = await runAll();

async function installAndEnter(): Promise<number> {
  await mkdir(PACKAGES, { recursive: true });
  await writeFile(join(PACKAGES, 'package.json'), '{"private":true}\n');
  const names = [...new Set(AGENTS.map((agent) => agent.package))];
  const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', PACKAGES, ...names];
  if (run('npm', install) !== 0) {
    console.error('The agents cannot be installed from the npm registry.');
    return 1;
  }
  // Inside, nothing can be fetched any more.
  await ensureRedisServer((line) => console.log(line));
  if (run('sh', ['-c', INSTALL_IP]) !== 0) {
    console.error('The command ip is missing. Install the package iproute2.');
    return 1;
  }
  const inside = 'ip link set lo up && exec "$0" "$@"';
  const self = fileURLToPath(import.meta.url);
  const own = process.argv.slice(2);
  return run('unshare', ['--net', 'sh', '-c', inside, process.execPath, self, ...own], { [INSIDE]: '1' });
}

function run(file: string, args: readonly string[], env: Record<string, string> = {}): number {
  const { status, error } = spawnSync(file, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  if (error) console.error(error.message);
  return status ?? 1;
}

async function runAll(): Promise<number> {
  const { all, over: only } = parseArgs({
    options: { all: { type: 'boolean' }, over: { type: 'string', multiple: true } },
  }).values;
  const results: boolean[] = [];
  const simulators = await startUpstreams();
  for (const offered of WEBSOCKETS) {
    const env = { EDGE_WEBSOCKETS: offered };
    const gateway = await startGateway({
      services: ['edge', 'text'],
      configuration: () => configuration(simulators),
      env,
    });
    try {
      for (const agent of AGENTS) {
        const prefers = agent.transport === 'websocket';
        if (offered === 'false' && !prefers) continue;
        for (const [over, simulator] of simulators) {
          if (only === undefined ? !all && over.longOnly?.includes(agent.name) : !only.includes(over.name))
            continue;
          const way = prefers && offered === 'false' ? ', with none offered' : '';
          results.push(
            await isDone(`${agent.name} over ${over.name}${way}`, () =>
              runTask(gateway, agent, over, {
                simulator,
                packages: PACKAGES,
                searchPath: process.env.PATH ?? '',
                expectsSocket: prefers && offered === 'true',
              }),
            ),
          );
        }
      }
    } finally {
      await gateway.close();
    }
  }
  await Promise.all([...simulators.values()].map((one) => one.close()));
  const failed = results.filter((done) => !done).length;
  console.log(
    failed === 0 ? `All ${results.length} tasks were done.` : `${failed} of ${results.length} tasks failed.`,
  );
  return failed === 0 ? 0 : 1;
}

async function isDone(what: string, task: () => Promise<void>): Promise<boolean> {
  try {
    await task();
    console.log(`ok      ${what}`);
    return true;
  } catch (error) {
    console.error(`failed  ${what}: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}
