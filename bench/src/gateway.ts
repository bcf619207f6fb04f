import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
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
const PORTS = [
  'PORT',
  'TEXT_PORT',
  'IMAGE_PORT',
  'AUDIO_PORT',
  'RETRIEVAL_PORT',
  'ADMIN_PORT',
  'EDGE_METRICS_PORT',
] as const;
const KEY = 'benchmark-key-without-limits';
const ADMIN_TOKEN = 'benchmark-admin-token-of-this-run';

/** Two families of text models, one of which is translated to, priced so that money is counted too. */
const configurationOf = (upstreamUrl: string, tokenUrl: string): string => `channels:
  openai: { provider: simulator, speaks: [responses, chat, transcriptions, embeddings, realtime] }
  anthropic: { provider: simulator, speaks: [messages] }
  keyed: { provider: openai-compatible, speaks: [responses], baseUrl: "${upstreamUrl}/v1", headers: { x-api-key: simulator }, apiKey: simulator }
  signed: { provider: openai-compatible, speaks: [responses], baseUrl: "${upstreamUrl}/v1", headers: { x-api-key: simulator }, auth: { type: aws, region: eu-central-1, service: bedrock, accessKeyId: AKIDEXAMPLE, secretAccessKey: of-nobody } }
  by-token: { provider: openai-compatible, speaks: [responses], baseUrl: "${upstreamUrl}/v1", headers: { x-api-key: simulator }, auth: { type: oauth, tokenUrl: "${tokenUrl}", clientId: bench, clientSecret: of-nobody } }
models:
  keyed: { kind: text, routes: [{ channel: keyed, model: gpt-5.2 }] }
  signed: { kind: text, routes: [{ channel: signed, model: gpt-5.2 }] }
  by-token: { kind: text, routes: [{ channel: by-token, model: gpt-5.2 }] }
  gpt-realtime: { kind: realtime, routes: [{ channel: openai }], price: { inputPerMTok: 4, outputPerMTok: 16, audioInputPerMTok: 32, audioOutputPerMTok: 64 } }
  "gpt-*": { kind: text, routes: [{ channel: openai }], price: { inputPerMTok: 1.25, outputPerMTok: 10 } }
  "claude-*": { kind: text, routes: [{ channel: anthropic }], price: { inputPerMTok: 3, outputPerMTok: 15 } }
  text-embedding-3-small: { kind: embedding, routes: [{ channel: openai }], price: { inputPerMTok: 0.02 } }
  whisper-1: { kind: transcription, routes: [{ channel: openai }], price: { perMinute: 0.006 } }
`;

/** An identity provider, whose tokens live as long as a cloud's. */
async function startTokens(): Promise<{ readonly url: string; readonly stop: () => void }> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ access_token: 'a-token', token_type: 'Bearer', expires_in: 3600 }));
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${port}/token`, stop: () => server.close() };
}

/** Starts the gateway as `npm start` does, with a Redis of its own, in front of an upstream that runs already. */
export async function startGateway(
  processes: Processes,
  upstreamUrl: string,
  env: Readonly<Record<string, string>> = {},
): Promise<GatewayContenders> {
  const dataDir = await mkdtemp(join(tmpdir(), `gateway-bench-${processes}-`));
  const configuration = join(dataDir, 'gateway.yaml');
  const tokens = await startTokens();
  await writeFile(configuration, configurationOf(upstreamUrl, tokens.url));
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
    ...env,
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
  const adminUrl = `http://127.0.0.1:${ports.ADMIN_PORT}`;
  await firstAnswer(`${adminUrl}/healthz`);
  const key = await makeLimitedKey(adminUrl, ADMIN_TOKEN);
  const plain: Contender = {
    name: `gateway (${processes})`,
    baseUrl,
    headers,
    processes: await processTree(child.pid),
    startMs,
    stop: async () => {
      await child.stop();
      tokens.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return {
    plain,
    limited: { ...plain, name: `${plain.name}, limits`, headers: { authorization: `Bearer ${key}` } },
  };
}
