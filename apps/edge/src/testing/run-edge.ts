import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { keysInRedis } from '@gateway/metering/testing/records-in-redis';
import { createRedis } from '@gateway/redis/open-redis';
import { COMPILE_CACHE } from '@gateway/testkit/compile-cache';
import { freePort } from '@gateway/testkit/free-port';
import { waitFor } from '@gateway/testkit/wait-for';
import { z } from 'zod';

export const GATEWAY_SECRET = 'a gateway secret of more than 32 characters';
export const KEY = 'a-bootstrap-key-for-the-edge-tests';
export const bearer = { authorization: `Bearer ${KEY}` };

const Ready = z.object({ type: z.literal('ready'), port: z.number() });

export interface RunningEdge {
  readonly url: string;
  readonly port: number;
  readonly metricsUrl: string;
  readonly process: ChildProcess;
  /** The process's output, line by line. */
  readonly output: readonly string[];
  /** The log line of a finished request. */
  logLine(requestId: string): Promise<Record<string, unknown>>;
  /** Ends the process and resolves to its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** The edge as a process of its own, with a Redis and services of the test's. `KEY` is among the keys of a Redis that answers. */
export async function runEdge(env: Record<string, string>): Promise<RunningEdge> {
  const metricsPort = await freePort();
  if (env.REDIS_URL !== undefined) await makeKey(env.REDIS_URL);
  const child = fork(new URL('../main.ts', import.meta.url), {
    silent: true,
    env: {
      ...COMPILE_CACHE,
      PORT: '0',
      EDGE_METRICS_PORT: String(metricsPort),
      GATEWAY_SECRET,
      ...env,
    },
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    if (stream !== null) createInterface({ input: stream }).on('line', (line) => output.push(line));
  const exited = once(child, 'exit');
  const [message] = await Promise.race([once(child, 'message'), exited]);
  const started = Ready.safeParse(message);
  if (!started.success) throw new Error(`the edge did not start: ${output.join('\n')}`);
  const { port } = started.data;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    process: child,
    output,
    logLine: (requestId) =>
      waitFor(() => {
        const line = output.find((text) => text.includes(`"requestId":"${requestId}"`));
        return line === undefined ? undefined : JSON.parse(line);
      }),
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}

async function makeKey(redisUrl: string): Promise<void> {
  const redis = createRedis(redisUrl, 'once');
  redis.on('error', () => undefined);
  const isThere = await redis.connect().then(
    () => true,
    () => false,
  );
  if (isThere) await keysInRedis({ redis, gatewaySecret: GATEWAY_SECRET }).ensureBootstrapKey(KEY);
  redis.disconnect();
}
