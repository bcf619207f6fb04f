import type { IncomingMessage, Server, ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import { pathOf } from '@gateway/contracts/endpoints/path-table';
import type { Identity } from '@gateway/contracts/identity';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';
import { requestIdOf } from './request-id.ts';

/** A request whose connection is to carry a WebSocket. */
export interface Handshake {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  /** What the caller has sent after the request's head. */
  readonly head: Buffer;
}

/** Who opens a WebSocket, from the edge. */
export interface SocketArrival {
  readonly identity: Identity & { readonly secretHash: string };
  readonly requestId: string;
  /** `edge`: the other end is the edge, which half-closes the connection when it stops. */
  readonly from: 'caller' | 'edge';
}

/** Answers a handshake that the edge has let in, and takes the connection over. */
export type AcceptSocket = (handshake: Handshake, arrival: SocketArrival) => void;

/** RFC 6455 §4.1. Offers of other protocols (`h2c`) are ignored: such a request is an ordinary one as well. */
export const isWebSocketHandshake = ({
  method,
  headers,
}: Pick<IncomingMessage, 'method' | 'headers'>): boolean =>
  headers.upgrade !== undefined && method === 'GET' && /\bwebsocket\b/i.test(headers.upgrade);

/** An identity that a WebSocket can be opened with: its key can be looked up again. */
export const opensSocket = (identity: Identity | undefined): identity is SocketArrival['identity'] =>
  identity?.secretHash !== undefined;

/**
 * Calls back where an edge that stops half-closes a connection. `ws` would then end the other half at once, and lose what runs.
 *
 * @param before the listeners that the connection had before `ws` took it
 */
export function onEdgeEnd(socket: Socket, before: readonly unknown[], onEnd: () => void): void {
  for (const listener of socket.listeners('end'))
    if (!before.includes(listener)) socket.off('end', listener as () => void);
  socket.once('end', onEnd);
}

interface ServedHandshakes {
  /** The only path that takes handshakes. */
  readonly path: string;
  readonly verifyIdentity: (token: string) => Identity | undefined;
  readonly accept: AcceptSocket;
}

/**
 * For the server of a service in a process of its own: handshakes whose identity the edge signed. Every other request
 * stays an ordinary one, and is refused as such.
 */
export function serveHandshakes({ path, verifyIdentity, accept }: ServedHandshakes) {
  const identityIn = ({ headers }: IncomingMessage): Identity | undefined => {
    const token = headers[INTERNAL_HEADERS.identity];
    return typeof token === 'string' ? verifyIdentity(token) : undefined;
  };
  const options: ServerOptions = {
    shouldUpgradeCallback: (request) =>
      isWebSocketHandshake(request) && pathOf(request.url ?? '') === path && opensSocket(identityIn(request)),
  };
  return {
    options,
    configure: (server: Server): void => {
      server.on('upgrade', (request, _socket, head) => {
        const { socket } = request;
        const identity = identityIn(request);
        if (!opensSocket(identity)) return void socket.destroy();
        const requestId = requestIdOf(request.headers[INTERNAL_HEADERS.requestId]);
        accept({ request, socket, head }, { identity, requestId, from: 'edge' });
      });
    },
  };
}
