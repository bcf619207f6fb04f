import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface StandInService {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /** The requests that it got, in order. */
  readonly requests: IncomingMessage[];
  /** Sets its answer. */
  reply(listener: RequestListener): void;
  close(): Promise<void>;
}

/** A service for the edge, scripted by a test. It answers `{"ok":true}` until the test sets another answer. */
export async function startStandInService({ port = 0 }: { port?: number } = {}): Promise<StandInService> {
  const requests: IncomingMessage[] = [];
  let listener: RequestListener = answerOk;
  const server = createServer({ maxHeaderSize: 48 * 1024 }, (request, response) => {
    requests.push(request);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    server,
    requests,
    reply: (next) => {
      listener = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export const answerOk: RequestListener = (request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
  });
};
