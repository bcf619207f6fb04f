import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { duplexPair } from 'node:stream';
import { http } from '@gateway/service-kit/node-http';

/** An HTTP exchange whose two ends are in this process: what answers a caller can answer the gateway itself. */
export interface MemoryExchange {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  /** What is written to `response`, as its caller gets it. Rejects where nothing is. */
  readonly reply: Promise<IncomingMessage>;
  /** Ends the exchange as a caller who leaves. */
  leave(): void;
}

interface MemoryRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends a request without a body. */
export async function openMemoryExchange({ method, path, headers }: MemoryRequest): Promise<MemoryExchange> {
  const [callers, servers] = duplexPair();
  const server = http.createServer();
  const arrived = once(server, 'request');
  server.emit('connection', servers);
  const outgoing = http.request({
    method,
    path,
    headers: { ...headers, host: 'memory' },
    createConnection: () => callers,
  });
  // The two ends of a pair do not close each other.
  callers.once('close', () => servers.destroy());
  const reply = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.on('error', reject);
  });
  reply.catch(() => undefined);
  outgoing.end();
  const [incoming, response]: [IncomingMessage, ServerResponse] = await arrived.then(([one, other]) => [
    one,
    other,
  ]);
  return { incoming, response, reply, leave: () => void outgoing.destroy() };
}
