import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { REALTIME } from '@gateway/contracts/endpoints/endpoints';
import { pathOf } from '@gateway/contracts/endpoints/path-table';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';
import type { ClientSecrets } from '@gateway/metering/keys/client-secret';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import { http } from '@gateway/service-kit/node-http';
import { isWebSocketHandshake } from '@gateway/service-kit/request/handshake';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import { writeAdminError } from '../api/write-admin-error.ts';
import { type Authenticate, checkOrigin, type Principal } from '../sessions/authenticate.ts';
import { mayUseKey } from '../sessions/scope.ts';
import { edgeAway, PLAYGROUND_PATH, unknownKey } from './relay.ts';

/** How long a session can be begun with the secret that the edge gets of this service. */
const LIFETIME_MS = 60_000;
/** How long a connection may outlast the sign-in, or the right, that it was opened with. */
const CHECK_EVERY_MS = 30_000;
/** Who has signed out has no key any more; other failures of a look-up say nothing of the person. */
const SIGNED_OUT: ReadonlySet<string> = new Set(['missing_key', 'invalid_key']);
const HANDSHAKE = ['sec-websocket-key', 'sec-websocket-version', 'sec-websocket-protocol'] as const;
const REPLY = ['sec-websocket-accept', 'sec-websocket-protocol'] as const;

/** The connection of a request that its server has given up for a WebSocket. */
const connectionOf: unique symbol = Symbol('connection of the playground');
declare module 'node:http' {
  interface IncomingMessage {
    [connectionOf]?: { readonly socket: Socket; readonly head: Buffer };
  }
}

export const wantsSocket = (request: IncomingMessage): boolean => request[connectionOf] !== undefined;

/** For the server of this service: handshakes of realtime sessions are answered by the listener of every other request. */
export const serveSockets = (
  listener: RequestListener,
): { readonly options: ServerOptions; readonly configure: (server: Server) => void } => ({
  options: {
    shouldUpgradeCallback: (request) =>
      isWebSocketHandshake(request) &&
      pathOf(request.url ?? '').endsWith(`${PLAYGROUND_PATH}${REALTIME.path}`),
  },
  configure: (server) =>
    void server.on('upgrade', (request, _socket, head) => {
      const { socket } = request;
      const response = new http.ServerResponse(request);
      socket.on('error', () => socket.destroy());
      response.assignSocket(socket);
      response.shouldKeepAlive = false;
      response.once('finish', () => socket.end());
      request[connectionOf] = { socket, head };
      listener(request, response);
    }),
});

interface SocketRelayOptions {
  readonly edgeUrl: string;
  readonly keys: Pick<KeyStore, 'getKey'>;
  readonly authenticate: Authenticate;
  readonly clientSecrets: Pick<ClientSecrets, 'seal'>;
  readonly now: () => number;
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal;
  /** Default: 30 s. */
  readonly checkEveryMs?: number;
}

export type SocketRelay = (
  request: IncomingMessage,
  response: ServerResponse,
  by: { readonly principal: Principal; readonly context: RequestContext },
) => Promise<void>;

/**
 * Lets a person who has signed in open a realtime session under a key: `?model=MODEL&key=ID`, since browsers set no headers there. The
 * edge gets a client secret of the key, so that the session ends with it; it ends too when the person has signed out or may no longer
 * use the key.
 */
export function createSocketRelay(options: SocketRelayOptions): SocketRelay {
  const {
    edgeUrl,
    keys,
    authenticate,
    clientSecrets,
    now,
    stopping,
    checkEveryMs = CHECK_EVERY_MS,
  } = options;

  const mayStay = async (request: IncomingMessage, keyId: string): Promise<boolean> => {
    try {
      const [person, key] = await Promise.all([authenticate(request), keys.getKey(keyId)]);
      return key !== undefined && mayUseKey(person, key);
    } catch (error) {
      return !(error instanceof GatewayError && SIGNED_OUT.has(error.code));
    }
  };

  return async (request, response, { principal, context }) => {
    // Browsers let every page open a WebSocket, with the person's cookie.
    if (principal.session !== null) checkOrigin(request);
    const query = new URL(request.url ?? '/', 'http://admin').searchParams;
    const model = query.get('model') ?? '';
    const key = await keys.getKey(query.get('key') ?? '');
    const secretHash = key?.secrets.at(0)?.hash;
    if (key === undefined || typeof secretHash !== 'string' || !mayUseKey(principal, key)) throw unknownKey();
    Object.assign(context.line, {
      relayedTo: REALTIME.path,
      keyId: key.id,
      by: principal.session?.name ?? 'admin',
    });
    const secret = clientSecrets.seal({
      ...{ secretHash, model, session: { type: 'realtime' }, expiresAtMs: now() + LIFETIME_MS },
    });
    if (secret === undefined || model === '')
      throw new GatewayError('missing_required_parameter', {
        path: ['model'],
        message: "Name a realtime model with '?model='.",
      });
    const url = new URL(`${REALTIME.path}?model=${encodeURIComponent(model)}`, edgeUrl);
    const headers = { ...handshakeOf(request), authorization: `Bearer ${secret}` };
    const outgoing = http.request(url, {
      headers: { ...headers, [INTERNAL_HEADERS.requestId]: context.requestId },
    });
    join(request, response, {
      ...{ outgoing, context, stopping, checkEveryMs },
      // The admin token is not given back.
      mayStay: principal.session === null ? null : () => mayStay(request, key.id),
    });
  };
}

const handshakeOf = ({ headers }: IncomingMessage) => ({
  connection: 'Upgrade',
  upgrade: 'websocket',
  ...Object.fromEntries(
    HANDSHAKE.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  ),
});

interface Joined {
  readonly outgoing: ReturnType<typeof http.request>;
  readonly context: RequestContext;
  readonly stopping: AbortSignal;
  readonly checkEveryMs: number;
  /** Null: nothing can end who it was opened by. */
  readonly mayStay: (() => Promise<boolean>) | null;
}

/** Connects the browser with the edge, or gives it the edge's refusal. */
function join(
  request: IncomingMessage,
  response: ServerResponse,
  { outgoing, context, stopping, checkEveryMs, mayStay }: Joined,
): void {
  const connection = request[connectionOf];
  if (connection === undefined) throw new Error('a request that opens no WebSocket');
  const { socket: browser, head } = connection;
  const leave = () => outgoing.destroy();
  browser.once('close', leave);
  outgoing.on('error', (error) => {
    if (!browser.destroyed && !response.headersSent) writeAdminError(response, edgeAway(error), context);
  });
  outgoing.once('response', (reply) => {
    response.writeHead(reply.statusCode ?? 502, { 'content-type': 'application/json' });
    reply.pipe(response);
  });
  outgoing.once('upgrade', (reply: IncomingMessage, edge: Socket, first: Buffer) => {
    browser.off('close', leave);
    response.detachSocket(browser);
    response.statusCode = 101;
    const lines = REPLY.flatMap((name) =>
      reply.headers[name] === undefined ? [] : [`${name}: ${reply.headers[name]}`],
    );
    browser.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n${lines.join('\r\n')}\r\n\r\n`,
    );
    const end = () => {
      edge.destroy();
      browser.destroySoon();
    };
    for (const socket of [edge, browser]) {
      socket.setTimeout(0).setNoDelay(true);
      socket.on('error', () => socket.destroy());
      socket.once('close', end);
    }
    stopping.addEventListener('abort', end, { once: true });
    if (stopping.aborted) end();
    const check = async () => {
      if ((await mayStay?.()) === false) end();
    };
    const checking = mayStay === null ? undefined : setInterval(() => void check(), checkEveryMs).unref();
    browser.once('close', () => {
      clearInterval(checking);
      stopping.removeEventListener('abort', end);
      response.emit('close');
    });
    browser.write(first);
    edge.write(head);
    edge.pipe(browser);
    browser.pipe(edge);
  });
  outgoing.end();
}
