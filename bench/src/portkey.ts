import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { WatchedProcess } from './processor-time.ts';

export interface Peer {
  readonly processes: readonly WatchedProcess[];
  readonly baseUrls: readonly string[];
  /** What a request needs so that the peer calls the same upstream. */
  readonly headers: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Where Portkey's open-source gateway starts. */
const PROGRAM = 'build/start-server.js';

/** Starts Portkey's open-source gateway, once per port, in front of an upstream that speaks OpenAI's protocol. */
export async function startPortkey({
  ports,
  upstreamBaseUrl,
}: {
  ports: readonly number[];
  upstreamBaseUrl: string;
}): Promise<Peer> {
  const manifest = createRequire(import.meta.url).resolve('@portkey-ai/gateway/package.json');
  const children = ports.map((port) =>
    spawn(process.execPath, [join(dirname(manifest), PROGRAM), `--port=${port}`, '--headless'], {
      stdio: 'ignore',
    }),
  );
  const baseUrls = ports.map((port) => `http://127.0.0.1:${port}`);
  await Promise.all(baseUrls.map(answers));
  return {
    processes: children.map(({ pid = 0 }) => ({ name: 'portkey', pid })),
    baseUrls,
    headers: {
      authorization: 'Bearer upstream-key',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': upstreamBaseUrl,
    },
    stop: async () => {
      await Promise.all(children.map(end));
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

const START_TIMEOUT_MS = 30_000;

async function answers(baseUrl: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      await (await fetch(baseUrl)).arrayBuffer();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`nothing answers at ${baseUrl}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
