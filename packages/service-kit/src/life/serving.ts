import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { discardRest } from '../request/discard-rest.ts';

/** The property of a connection with the response that is not complete yet, or whose request is not. */
const openResponse: unique symbol = Symbol('open response');
declare module 'node:net' {
  interface Socket {
    [openResponse]?: ServerResponse | undefined;
  }
}

/** A server from its first connection to its last; its own listeners are there already. */
export interface Serving {
  /** From now on each connection ends with the reply that comes next on it. */
  endKeepAlive(): void;
  /**
   * Takes no more connections; resolves when the last one has ended, which the deadline enforces.
   *
   * @param clientDelayMs how long what reaches this process may have been on its way; at least a second is reckoned with
   */
  drain(deadline: AbortSignal, clientDelayMs?: number): Promise<void>;
}

/** How long a request may take to end after the drain deadline has aborted it, before its socket is destroyed. */
const CLOSE_GRACE_MS = 1000;

/** How often draining looks for connections that have become idle. */
const IDLE_CHECK_MS = 50;

/** How long, at least, a client may use a connection again after a reply that promised this before the process began to stop. */
const MIN_REUSE_MS = 1000;

/**
 * Ends a connection whose bytes cannot be read as HTTP, if they belong to the body of a request that has its answer, or is
 * getting it: a second answer would be taken for that to the next request. False: they belong to no such request.
 */
export function endAfterAnswer(socket: Duplex): boolean {
  const response = socket instanceof Socket ? socket[openResponse] : undefined;
  if (response?.headersSent !== true || response.req.complete) return false;
  if (!response.writableEnded) response.destroy();
  else if (response.writableFinished) socket.end();
  else response.once('finish', () => socket.end());
  return true;
}

/**
 * Whether bytes came behind a request with which its connection ends. Nothing of them is read (RFC 9112 §9.6): that request
 * has its answer, or gets it, and no other follows.
 */
export const isBehindLast = ({ code }: { readonly code?: string | undefined }): boolean =>
  code === 'HPE_CLOSED_CONNECTION';

/** What Node does where nobody listens, but for a second answer. */
function refuseBroken(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (isBehindLast(error)) return;
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  if (endAfterAnswer(socket)) return;
  if (socket instanceof Socket && socket[openResponse]?.headersSent === true) return void socket.destroy();
  socket.end(`HTTP/1.1 ${STATUS_LINES[error.code ?? ''] ?? '400 Bad Request'}\r\nconnection: close\r\n\r\n`);
}

const STATUS_LINES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

export function serveBy(server: Server): Serving {
  if (server.listenerCount('clientError') === 0) server.on('clientError', refuseBroken);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const onRequest = (listener: (request: IncomingMessage, response: ServerResponse) => void) => {
    server.prependListener('request', listener);
    // Node answers a client that waits for `100 Continue` by itself only where nobody listens.
    for (const event of ['checkContinue', 'checkExpectation'])
      if (server.listenerCount(event) > 0) server.prependListener(event, listener);
  };
  onRequest((request, response) => {
    const { socket } = request;
    socket[openResponse] = response;
    // It offers another protocol, which nobody took: Node's parser drops what comes behind it, and reads on without an end.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    // Before Node's own listener, which drops unseen whatever of a body nobody has begun to read.
    response.prependOnceListener('finish', () => {
      if (!request.complete) discardRest(request);
    });
    response.once('close', () => {
      if (!request.complete) discardRest(request);
      // A connection that kept its last response would keep all of that request in memory for as long as it is idle.
      else if (socket[openResponse] === response) socket[openResponse] = undefined;
    });
  });
  /** Connections whose reply had promised to keep them, and since when it has been complete. */
  const promised = new Map<Socket, number | undefined>();

  const promise = (socket: Socket, response: ServerResponse) => {
    promised.set(socket, undefined);
    response.once('close', () => {
      if (promised.has(socket)) promised.set(socket, performance.now());
    });
    socket.once('close', () => promised.delete(socket));
  };

  /** Whether the client of a promised connection may be about to use it. */
  const isAwaited = (socket: Socket, afterMs: number): boolean => {
    const sinceMs = promised.get(socket);
    return sinceMs !== undefined && sinceMs > afterMs;
  };

  /** Connections without any bytes when they were looked at last. */
  const unused = new WeakSet<Socket>();

  const closeIdle = (reuseMs: number) => {
    const afterMs = performance.now() - reuseMs;
    let awaited = false;
    for (const socket of sockets) {
      // Node treats a connection without any bytes as one whose request is on its way, for ever.
      if (socket.bytesRead === 0 && unused.has(socket)) socket.destroy();
      else if (socket.bytesRead === 0) unused.add(socket);
      else if (isAwaited(socket, afterMs)) awaited = true;
    }
    if (!awaited) server.closeIdleConnections();
  };

  return {
    endKeepAlive: () => {
      onRequest(({ socket }, response) => {
        response.shouldKeepAlive = false;
        promised.delete(socket);
      });
      for (const socket of sockets) {
        const response = socket[openResponse];
        if (response === undefined || response.writableFinished) continue;
        if (response.headersSent) promise(socket, response);
        else response.shouldKeepAlive = false;
      }
    },

    drain: async (deadline, clientDelayMs = 0) => {
      // The method of HTTP servers would also close idle connections, whether or not their clients may be about to use them.
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
      // On a busy machine a request may have been waiting to be read for longer than its connection is kept.
      const closeWhenRead = () => setImmediate(closeIdle, Math.max(MIN_REUSE_MS, clientDelayMs));
      closeWhenRead();
      const idle = setInterval(closeWhenRead, IDLE_CHECK_MS);
      // The server itself does not know those any more that carry a WebSocket.
      const destroyAll = () => {
        for (const socket of sockets) socket.destroy();
      };
      const force = () => setTimeout(destroyAll, CLOSE_GRACE_MS);
      if (deadline.aborted) force();
      else deadline.addEventListener('abort', force, { once: true });
      await closed;
      clearInterval(idle);
    },
  };
}
