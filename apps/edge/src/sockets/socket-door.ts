import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Endpoint, REALTIME, socketAt } from '@gateway/contracts/endpoints/endpoints';
import { pathOf } from '@gateway/contracts/endpoints/path-table';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { http } from '@gateway/service-kit/node-http';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import {
  isWebSocketHandshake,
  opensSocket,
  type SocketArrival,
} from '@gateway/service-kit/request/handshake';
import type { CrossOrigin } from '../request/cross-origin.ts';
import type { EdgeContext } from '../request/edge-context.ts';
import type { SocketLimits } from './socket-limits.ts';

/** A WebSocket that the edge has let in, on its way to the service. */
export interface Opening {
  /** Its headers are those for the service. */
  readonly request: IncomingMessage;
  /** Answers the caller as long as the WebSocket has not begun. */
  readonly response: ServerResponse;
  readonly context: EdgeContext;
  readonly socket: Socket;
  readonly head: Buffer;
  readonly identity: SocketArrival['identity'];
  readonly endpoint: Endpoint<'text' | 'audio'>;
  /** To be called before anything is written to the socket itself. */
  begin(): void;
}

/** Gives a WebSocket to the service, and handles every failure. */
export type OpenSocket = (opening: Opening) => void;

export interface SocketDoor {
  /** @throws {GatewayError} for a handshake that is not taken */
  enter(
    request: IncomingMessage,
    response: ServerResponse,
    context: EdgeContext,
    endpoint: Opening['endpoint'],
    toService: () => IncomingMessage['headers'],
  ): void;
}

interface SocketDoorOptions {
  readonly open: OpenSocket;
  readonly limits: SocketLimits;
  readonly crossOrigin: CrossOrigin;
}

/** The property of a request whose connection the server has given up for a WebSocket. */
const connectionOf: unique symbol = Symbol('connection to upgrade');
declare module 'node:http' {
  interface IncomingMessage {
    [connectionOf]?: { readonly socket: Socket; readonly head: Buffer };
  }
}

export const isUpgrading = (request: IncomingMessage): boolean => request[connectionOf] !== undefined;

/** The name of a WebSocket in log and metrics: one lasts as long as its connection. */
export const socketName = (path: string): string => `${path} (websocket)`;

const REALTIME_PROTOCOL = 'realtime';
/** RFC 6455 §4.2.1 */
const VERSION = '13';
const KEY = /^[+/0-9A-Za-z]{22}==$/;

/** Checks handshakes beyond what every request is checked for, and gives them to the service. */
export function createSocketDoor({ open, limits, crossOrigin }: SocketDoorOptions): SocketDoor {
  return {
    enter: (request, response, context, endpoint, toService) => {
      const connection = request[connectionOf];
      const { identity } = context;
      if (connection === undefined || identity === null || !opensSocket(identity))
        throw new Error('a request that opens no WebSocket');
      checkHandshake(request);
      // Browsers let every page open a WebSocket, and read it.
      if (!crossOrigin.isWelcome(request)) throw foreignOrigin();
      const release = limits.take(identity.keyId);
      const { socket, head } = connection;
      response.once('close', release);
      const headers = endpoint === REALTIME ? withoutSecrets(toService()) : toService();
      request.headers = { ...headers, connection: 'Upgrade', upgrade: 'websocket' };
      const begin = () => {
        response.detachSocket(socket);
        response.statusCode = 101;
        context.upgraded = true;
        socket.once('close', () => response.emit('close'));
      };
      open({ request, response, context, socket, head, identity, endpoint, begin });
    },
  };
}

const PROTOCOLS = 'sec-websocket-protocol';

/** Of the subprotocols that a browser offers, the one that is a protocol: others hold its key. */
function withoutSecrets(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  const { [PROTOCOLS]: offered, ...others } = headers;
  const names = offered?.split(',').map((name) => name.trim()) ?? [];
  return names.includes(REALTIME_PROTOCOL) ? { ...others, [PROTOCOLS]: REALTIME_PROTOCOL } : others;
}

function checkHandshake({ headers }: IncomingMessage): void {
  const { 'sec-websocket-version': version, 'sec-websocket-key': key } = headers;
  if (version !== VERSION) {
    throw new GatewayError('upgrade_refused', {
      message: `The WebSocket version must be ${VERSION}.`,
      headers: { 'sec-websocket-version': VERSION },
    });
  }
  if (key === undefined || !KEY.test(key))
    throw new GatewayError('malformed_request', "The header 'sec-websocket-key' must be 16 bytes in base64.");
}

const foreignOrigin = (): GatewayError =>
  new GatewayError(
    'origin_not_allowed',
    'Pages of this origin may not open a WebSocket here. The operator can allow it with EDGE_CORS_ORIGINS.',
  );

/** For the server's options: only these requests give up their connection, every other one is answered over HTTP. */
export const takesUpgrade = (request: IncomingMessage): boolean =>
  isWebSocketHandshake(request) && socketAt(pathOf(request.url ?? '')) !== undefined;

/** Has handshakes answered by the same listener as every other request. */
export function listenForUpgrades(server: Server, app: RequestListener): void {
  server.on('upgrade', (request: IncomingMessage, _socket, head: Buffer) => {
    const { socket } = request;
    const response = new http.ServerResponse(request);
    socket.on('error', () => socket.destroy());
    try {
      response.assignSocket(socket);
    } catch {
      // The reply to an earlier request is still under way on this connection.
      socket.destroy();
      return;
    }
    response.shouldKeepAlive = false;
    response.once('finish', () => {
      response.detachSocket(socket);
      response.emit('close');
      socket.end();
      discardRest(socket);
    });
    request[connectionOf] = { socket, head };
    app(request, response);
  });
}
