import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Simulator } from '@gateway/simulator/start-simulator';
import { temporaryFolder } from '@gateway/testkit/temporary-folder';
import type { Gateway } from '../support/start-gateway.ts';
import type { Agent, Command, Place } from './agents.ts';
import { SHELL_CALLS } from './shell-call.ts';
import type { Upstream } from './upstreams.ts';

const TASK = 'Write down the proof that you were here, with your shell.';
const PROOF = 'proof of the shell';
const TIME_LIMIT_MS = 120_000;

interface TaskOptions extends Pick<Place, 'packages' | 'searchPath'> {
  /** Plays the upstream. */
  readonly simulator: Simulator;
  /** Whether the agent's requests are to come over a WebSocket. */
  readonly expectsSocket: boolean;
}

/**
 * Gives an agent a task through the gateway. Its model calls the agent's shell once and then reports what the
 * shell wrote. Resolves when the agent has done it.
 * @throws {Error} saying what was missing
 */
export async function runTask(
  gateway: Gateway,
  agent: Agent,
  { name, protocol, path: ofAnswers }: Upstream,
  { simulator, packages, searchPath, expectsSocket }: TaskOptions,
): Promise<void> {
  const before = gateway.lines.length;
  await using folder = await owned();
  const work = join(folder.path, 'work');
  await mkdir(work);
  simulator.reset();
  const isTask = ({ path, body }: { path: string; body: Buffer }) =>
    ofAnswers.test(path) && body.includes(TASK) && body.includes(`"${agent.shell.tool}"`);
  const input = agent.shell.input(`echo '${PROOF}' | tee proof.txt`);
  simulator.script(isTask, SHELL_CALLS[protocol]({ tool: agent.shell.tool, input }));

  const place = {
    packages,
    searchPath,
    home: folder.path,
    url: gateway.url,
    key: gateway.key,
    model: `agent-over-${name}`,
  };
  const { code, output } = await run(await agent.command(place, TASK), place, work);
  const fail = (what: string): never => {
    throw new Error(`${what}\nexit code ${code}, and its output:\n${output.slice(-3000)}`);
  };
  if (code !== 0) fail('the agent failed');
  const proof = await readFile(join(work, 'proof.txt'), 'utf8').catch(() => fail('its shell wrote nothing'));
  if (proof.trim() !== PROOF) fail(`its shell wrote ${JSON.stringify(proof)}`);
  const sent = simulator.requests.filter(({ path }) => ofAnswers.test(path));
  if (sent.length < 2) fail('it never reported to the model what its shell wrote');
  if (!output.includes(PROOF)) fail("it did not show the model's last answer");
  const overSocket = gateway.lines
    .slice(before)
    .filter(({ text }) => text.includes('"transport":"websocket"'));
  if (overSocket.length > 0 !== expectsSocket) fail(`${overSocket.length} requests came over a WebSocket`);
}

async function owned() {
  const folder = await temporaryFolder();
  return { path: folder.path, [Symbol.asyncDispose]: () => folder.close() };
}

async function run({ file, args, env }: Command, { home, searchPath }: Place, cwd: string) {
  const child = spawn(file, args, {
    cwd,
    // Nothing of ours but the path: no key, no settings, no home.
    env: { PATH: searchPath, HOME: home, TERM: 'dumb', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIME_LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
  const [code] = await once(child, 'close');
  return { code: Number(code ?? -1), output };
}
