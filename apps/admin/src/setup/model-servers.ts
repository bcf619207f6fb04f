import { jsonIn } from '@gateway/contracts/json/json-object';
import type { Provider } from '@gateway/upstream/configuration/presets/presets';
import { fetchBy } from '@gateway/upstream/connecting/fetch-by';
import { DIRECT } from '@gateway/upstream/connecting/network';
import { z } from 'zod';

/** A model server that a team runs, and the kind of channel for it. */
export interface ModelServer {
  readonly provider: Provider;
  /** With the path that its kind of channel has. */
  readonly baseUrl: string;
}

interface KnownServer {
  readonly provider: Provider;
  /** Where it listens if nobody says otherwise. */
  readonly port: number;
  /** What is asked, and what only this server answers: several share a port. */
  readonly path: string;
  readonly answer: z.ZodType;
}

/** Servers say in their list of models who they are. */
const ownedBy = (owner: string) =>
  z.object({ data: z.tuple([z.object({ owned_by: z.literal(owner) })], z.unknown()) });

const KNOWN_SERVERS: readonly KnownServer[] = [
  { provider: 'ollama', port: 11434, path: '/api/version', answer: z.object({ version: z.string() }) },
  {
    provider: 'lm-studio',
    port: 1234,
    path: '/api/v0/models',
    answer: z.object({ data: z.array(z.looseObject({ id: z.string(), compatibility_type: z.string() })) }),
  },
  { provider: 'vllm', port: 8000, path: '/v1/models', answer: ownedBy('vllm') },
  { provider: 'llama-cpp', port: 8080, path: '/v1/models', answer: ownedBy('llamacpp') },
  { provider: 'openai-compatible', port: 30000, path: '/v1/models', answer: ownedBy('sglang') },
];

const LOCAL_MS = 2_000;
const NAMED_MS = 5_000;

/** The servers that answer on the usual ports of this machine. A busy one takes a second; a port where nobody listens answers at once. */
export async function findLocalServers(): Promise<readonly ModelServer[]> {
  const found = await Promise.all(
    KNOWN_SERVERS.map((known) => recognize(known, `http://127.0.0.1:${known.port}`, LOCAL_MS)),
  );
  return found.filter((server) => server !== null);
}

/** The server at this address; one that is none of those known is taken for a server with OpenAI's protocol. */
export async function serverAt(url: URL): Promise<ModelServer> {
  const base = (url.origin + url.pathname).replace(/\/+$/, '');
  const root = base.replace(/\/v1$/, '');
  const found = await Promise.all(KNOWN_SERVERS.map((known) => recognize(known, root, NAMED_MS)));
  const baseUrl = url.pathname === '/' ? `${root}/v1` : base;
  return found.find((server) => server !== null) ?? { provider: 'openai-compatible', baseUrl };
}

async function recognize(
  { provider, path, answer }: KnownServer,
  root: string,
  patienceMs: number,
): Promise<ModelServer | null> {
  try {
    const signal = AbortSignal.timeout(patienceMs);
    const reply = await fetchBy(DIRECT)(root + path, { method: 'GET', headers: {}, signal });
    const isIt = reply.ok && answer.safeParse(jsonIn(await reply.text())).success;
    return isIt ? { provider, baseUrl: `${root}/v1` } : null;
  } catch {
    return null;
  }
}
