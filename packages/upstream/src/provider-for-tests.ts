import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { loadConfiguration } from './configuration/load-configuration.ts';
import type { Protocol } from './protocol.ts';
import { createUpstream, type Upstream } from './upstream.ts';

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Answer = (response: ServerResponse, request: ReceivedRequest) => unknown;

export interface ProviderForTests {
  readonly origin: string;
  readonly requests: ReceivedRequest[];
  /** How many connections were made, with or without a request. */
  connections: number;
  /** Sets its answer; at first `{"ok":true}`. */
  answer: Answer;
  /** Resolves when the connection of an answer that has not ended is closed from the other side. */
  readonly left: Promise<void>;
  /** Breaks all connections. */
  readonly closeAll: () => void;
}

/** A real HTTP server; a test writes its answers. Closed when the test ends. */
export const startProvider = async (answer?: Answer): Promise<ProviderForTests> => {
  const left = Promise.withResolvers<void>();
  const provider = {
    origin: '',
    requests: [] as ReceivedRequest[],
    connections: 0,
    answer: answer ?? ((response: ServerResponse) => json(response, { ok: true })),
    left: left.promise,
    closeAll: () => server.closeAllConnections(),
  };
  const server = createServer(async (request, response) => {
    response.once('close', () => {
      if (!response.writableFinished) left.resolve();
    });
    const body = await text(request).catch(() => '');
    const { method = '', url = '', headers } = request;
    const received = { method, url, headers, body };
    provider.requests.push(received);
    await provider.answer(response, received);
  });
  server.on('connection', () => {
    provider.connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  provider.origin = `http://127.0.0.1:${address.port}`;
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return provider;
};

export const json = (response: ServerResponse, body: unknown, status = 200, headers = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};

/** Such as `error(401, {...})`: an answer for `startProvider`. */
export const error =
  (status: number, body: unknown, headers = {}): Answer =>
  (response) =>
    json(response, body, status, headers);

export interface ChannelForTests {
  readonly origin: string;
  readonly speaks?: readonly Protocol[];
  /** YAML flow members, such as `timeouts: { idleMs: 50 }`. */
  readonly settings?: string;
  /** Names of accounts, each with a key of its own; absent: one key. */
  readonly accounts?: readonly string[];
}

/** The key of an account of a channel of `startUpstream`. */
export const keyOf = (channel: string, account: string): string => `sk-secret-of-${channel}-${account}`;

/** An upstream whose model `small` is served by these channels, in this order; the model is called `large` there. */
export const startUpstream = async (
  channels: Readonly<Record<string, ChannelForTests>>,
  onAttempt?: Parameters<typeof createUpstream>[0]['onAttempt'],
  /** YAML flow members of the model, such as `fallback: { maxAttempts: 1 }`. */
  modelSettings = '',
  onHedge?: Parameters<typeof createUpstream>[0]['onHedge'],
): Promise<Upstream> => {
  const entries = Object.entries(channels);
  const channelLines = entries.map(
    ([name, { origin, speaks = ['responses', 'chat'], settings = '', accounts }]) => {
      const provider = speaks.includes('messages') ? 'anthropic' : 'openai';
      const base = provider === 'openai' ? `${origin}/v1` : origin;
      const named = accounts?.map((account) => `${account}: ${keyOf(name, account)}`);
      const key = named ? `apiKeys: { ${named} }` : `apiKey: ${keyOf(name, '0123456789')}`;
      return `  ${name}: { provider: ${provider}, baseUrl: "${base}", ${key}, speaks: [${speaks}], ${settings} }`;
    },
  );
  const routes = entries.map(([name], index) => `{ channel: ${name}, model: large, priority: ${index} }`);
  const file = [
    'channels:',
    ...channelLines,
    'models:',
    `  small: { kind: text, routes: [${routes}], ${modelSettings} }`,
  ];
  const configuration = await loadConfiguration({
    path: 'gateway.yaml',
    env: {},
    readFile: (path) => (path === 'gateway.yaml' ? Promise.resolve(file.join('\n')) : readFile(path, 'utf8')),
  });
  const upstream = createUpstream({
    configuration,
    ...(onAttempt && { onAttempt }),
    ...(onHedge && { onHedge }),
  });
  onTestFinished(() => upstream.destroy());
  return upstream;
};

/** An address that takes connections and never answers the TLS handshake: a connection that is never made. */
export const muteOrigin = async (): Promise<string> => {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `https://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
};
