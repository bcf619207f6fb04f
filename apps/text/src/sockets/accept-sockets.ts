import type { SocketMemory } from '@gateway/model-service/sockets/socket-memory';
import { type AcceptSocket, onEdgeEnd } from '@gateway/service-kit/request/handshake';
import { type ServerOptions, WebSocketServer } from 'ws';
import { type ClosedConnection, type ConnectionLimits, SocketConnection } from './connection.ts';
import type { RequestRunner } from './run-create.ts';

export interface SocketsOptions {
  readonly runner: RequestRunner;
  readonly limits: Omit<ConnectionLimits, 'silenceMs'>;
  readonly socketMemory: SocketMemory;
  /** How often each client gets a ping. */
  readonly pingMs: number;
  readonly now: () => number;
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal;
  readonly onOpened: () => void;
  readonly onClosed: (closed: ClosedConnection) => void;
}

export interface Sockets {
  readonly acceptSocket: AcceptSocket;
  close(): void;
}

/** Signs of life that may be missing in a row. */
const MAX_MISSED_PINGS = 3;
/** A larger frame ends its connection; up to here it is read, and refused. */
const MAX_READ_FACTOR = 2;
/** How long a client may take to answer a close frame. */
const CLOSE_TIMEOUT_MS = 2000;

/** All WebSockets of this process. One timer looks after all of them. */
export function createSockets(options: SocketsOptions): Sockets {
  const { runner, socketMemory, pingMs, now, stopping, onOpened, onClosed } = options;
  const limits = { ...options.limits, silenceMs: pingMs * MAX_MISSED_PINGS };
  const connections = new Set<SocketConnection>();
  const serverOptions: ServerOptions & { readonly closeTimeout: number } = {
    noServer: true,
    clientTracking: false,
    // Compressed, one small frame could become gigabytes, and every connection would hold some 300 KB.
    perMessageDeflate: false,
    maxPayload: limits.maxFrameBytes * MAX_READ_FACTOR,
    closeTimeout: CLOSE_TIMEOUT_MS,
  };
  const server = new WebSocketServer(serverOptions);
  server.on('headers', (headers, request) => {
    const id = request.headers['x-request-id'];
    if (typeof id === 'string') headers.push(`x-request-id: ${id}`);
  });
  const checking = setInterval(() => {
    for (const connection of connections) connection.check();
  }, pingMs);
  const endAll = () => {
    for (const connection of connections) connection.end('restart');
  };
  stopping.addEventListener('abort', endAll, { once: true });

  return {
    acceptSocket: ({ request, socket, head }, arrival) => {
      const before = socket.listeners('end');
      server.handleUpgrade(request, socket, head, (webSocket) => {
        const connection: SocketConnection = new SocketConnection(webSocket, {
          request,
          socket,
          head,
          arrival,
          runner,
          limits,
          socketMemory,
          now,
          onClosed: (closed) => {
            connections.delete(connection);
            onClosed(closed);
          },
        });
        connections.add(connection);
        onOpened();
        if (arrival.from === 'edge') onEdgeEnd(socket, before, () => connection.end('restart'));
        if (stopping.aborted) connection.end('restart');
      });
    },
    close: () => {
      clearInterval(checking);
      stopping.removeEventListener('abort', endAll);
      server.close();
    },
  };
}
