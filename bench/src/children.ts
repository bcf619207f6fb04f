import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** A process of this benchmark's own, ended by it. */
export interface Child {
  readonly pid: number;
  /** Ends it with SIGTERM and waits until it is gone. */
  stop(): Promise<void>;
}

/** Starts a Node program. What it writes is thrown away; its standard error is shown. */
export function startChild(args: readonly string[], env: Record<string, string>): Child {
  const options: SpawnOptions = {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH, ...env },
  };
  const child = spawn(process.execPath, args, options);
  return { pid: child.pid ?? 0, stop: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

const START_TIMEOUT_MS = 60_000;
const ASK_EVERY_MS = 10;

/**
 * Waits until a request gets a 2xx.
 *
 * @throws {Error} after a minute
 */
export async function firstAnswer(url: string, request: RequestInit = {}): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const answered = await fetch(url, request).then(
      async (reply) => {
        await reply.arrayBuffer();
        return reply.ok;
      },
      () => false,
    );
    if (answered) return;
    if (Date.now() > deadline) throw new Error(`${url} does not answer`);
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
}
