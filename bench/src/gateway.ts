import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMPILE_CACHE } from '@gateway/stack/compile-cache';
import { firstAnswer, freePort, startChild } from './children.ts';
import type { Contender } from './contender.ts';
import { makeLimitedKey } from './limited-key.ts';
import { processTree } from './process-tree.ts';
import { REQUESTS } from './requests.ts';

/** How the gateway runs: one process for the edge and the services, or one for each of them. */
export type Processes = 'one' | 'each';

export interface GatewayContenders {
  /** By a key without limits. */
  readonly plain: Contender;
  /** By a key with every kind of limit and with a budget. */
  readonly limited: Contender;
}

const ENTRY = join(import.meta.dirname, '../../packages/stack/src/main.ts');
const PORTS = ['PORT', 'TEXT_PORT', 'IMAGE_PORT', 'AUDIO_PORT', 'ADMIN_PORT', 'EDGE_METRICS_PORT'] as const;
const KEY = 'benchmark-key-without-limits';
const ADMIN_TOKEN = 'benchmark-admin-token-of-this-run';

/** Two families of text models, one of which is translated to, priced so that money is counted too. */
const CONFIGURATION = `channels:
  openai: { provider: simulator, speaks: [responses, chat, transcriptions] }
  anthropic: { provider: simulator, speaks: [messages] }
models:
  "gpt-*": { kind: text, routes: [{ channel: openai }], price: { inputPerMTok: 1.25, outputPerMTok: 10 } }
  "claude-*": { kind: text, routes: [{ channel: anthropic }], price: { inputPerMTok: 3, outputPerMTok: 15 } }
  whisper-1: { kind: transcription, routes: [{ channel: openai }], price: { perMinute: 0.006 } }
`;

/** Starts the gateway as `npm start` does, with a Redis of its own, in front of an upstream that runs already. */
export async function startGateway(processes: Processes, upstreamUrl: string): Promise<GatewayContenders> {
  const dataDir = await mkdtemp(join(tmpdir(), `gateway-bench-${processes}-`));
  const configuration = join(dataDir, 'gateway.yaml');
  await writeFile(configuration, CONFIGURATION);
  const ports: Record<string, string> = {};
  for (const variable of PORTS) ports[variable] = String(await freePort());
  const startedAt = performance.now();
  const child = startChild([ENTRY], {
    ...ports,
    NODE_ENV: 'production',
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    GATEWAY_CONFIG: configuration,
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_PROCESSES: processes,
    GATEWAY_BOOTSTRAP_KEY: KEY,
    GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
    SIMULATOR_URL: upstreamUrl,
    EDGE_MAX_WEBSOCKETS_PER_KEY: '2000',
    CONSOLE_BUILD: 'false',
  });
  const baseUrl = `http://127.0.0.1:${ports.PORT}`;
  const headers = { authorization: `Bearer ${KEY}` };
  const { path, body } = REQUESTS.small;
  await firstAnswer(baseUrl + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
  const startMs = performance.now() - startedAt;
  const key = await makeLimitedKey(`http://127.0.0.1:${ports.ADMIN_PORT}`, ADMIN_TOKEN);
  const plain: Contender = {
    name: `gateway (${processes})`,
    baseUrl,
    headers,
    processes: await processTree(child.pid),
    startMs,
    stop: async () => {
      await child.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return {
    plain,
    limited: { ...plain, name: `${plain.name}, limits`, headers: { authorization: `Bearer ${key}` } },
  };
}
