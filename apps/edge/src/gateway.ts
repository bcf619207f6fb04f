import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  CLIENT_SECRETS_PATH,
  ENDPOINTS,
  type Endpoint,
  GOOGLE_PREFIX,
  isCountedByService,
  isSocket,
  REALTIME,
  socketAt,
  WEBSOCKET,
} from '@gateway/contracts/endpoints/endpoints';
import { isKnownMissing, pathNotFound } from '@gateway/contracts/endpoints/missing-paths';
import { createPathTable, type PathRow, pathOf } from '@gateway/contracts/endpoints/path-table';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { KeyCache } from '@gateway/metering/keys/key-cache';
import type { Refusals } from '@gateway/metering/usage/refusals';
import type { LoadGuard } from '@gateway/service-kit/load/load-guard';
import type { RefusalReason } from '@gateway/service-kit/metrics';
import { isWebSocketHandshake } from '@gateway/service-kit/request/handshake';
import { UNKNOWN_PATH } from '@gateway/service-kit/request/request-log';
import type { Forwarder } from './forwarding/forwarder.ts';
import { mayMoveOn } from './forwarding/repeating.ts';
import { isForwarded } from './forwarding/watch-requests.ts';
import { type CallerSecret, callerSecretOf, invalidKey } from './request/caller-secret.ts';
import type { CrossOrigin } from './request/cross-origin.ts';
import type { EdgeContext, EdgeContexts } from './request/edge-context.ts';
import type { OwnKey } from './request/own-key.ts';
import { requestHeaders } from './request/request-headers.ts';
import type { RequestLimits } from './request/request-limits.ts';
import { isUpgrading, type SocketDoor, socketName } from './sockets/socket-door.ts';

interface GatewayOptions {
  readonly contexts: EdgeContexts;
  readonly identify: KeyCache['identify'];
  /** The mark by which services in other processes recognise this edge's requests; null if they are in this one. */
  readonly seal: Seal | null;
  readonly limits: RequestLimits;
  readonly refusals: Refusals<RefusalReason>;
  readonly ownKey: OwnKey;
  readonly forwarder: Forwarder;
  readonly load: LoadGuard;
  readonly crossOrigin: CrossOrigin;
  readonly sockets: SocketDoor;
  /** The keyed hash of a secret. */
  readonly hashSecret: (secret: string) => string;
  readonly trustProxy: boolean;
}

/** Proves to a service who sent the request, and that it came through the edge. */
export interface Seal {
  readonly sign: (identity: Identity) => string;
  /** The mark at the beginning of a request to a service. */
  readonly mark: string;
}

type Next = (error?: unknown) => void;

/** Below it also paths that do not exist are the gateway's to answer. */
const API_PREFIXES = ['/v1/', GOOGLE_PREFIX];
const OPTIONS_ANYWHERE = 'GET, HEAD, POST, DELETE, OPTIONS';

/**
 * The steps of every API request through the edge: request id, key, endpoint, scope, limits, signature, forwarding.
 *
 * The key is checked before the path, as the real APIs do: callers without a key cannot find out which paths exist.
 */
export function createGateway(options: GatewayOptions) {
  const { contexts, identify, limits, refusals, ownKey, forwarder, load, crossOrigin, sockets, hashSecret } =
    options;
  const findPath = createPathTable(ENDPOINTS);

  /** The steps after the key's check; `identity` is null on public paths. */
  const admit = (
    request: IncomingMessage,
    response: ServerResponse,
    context: EdgeContext,
    row: PathRow | undefined,
  ): void | Promise<void> => {
    const { identity } = context;
    const endpoint = endpointOf(request, row);
    checkScope(endpoint, identity, refusals);
    if (isForwarded(endpoint)) load.admit(endpoint, identity);
    const entering = identity === null ? undefined : limits.enter(response, context, identity, endpoint);
    if (entering === undefined) return answer(request, response, context, endpoint);
    return entering.then(() => answer(request, response, context, endpoint));
  };

  const answer = (
    request: IncomingMessage,
    response: ServerResponse,
    context: EdgeContext,
    endpoint: Endpoint,
  ): void | Promise<void> => {
    const { identity } = context;
    // The caller left, or its request turned out to be malformed, while its key was being looked up.
    if (response.destroyed || !request.socket.writable) return;
    if (!isForwarded(endpoint)) return ownKey.answer(response, context);
    const { seal, trustProxy } = options;
    const { requestId } = context;
    const toService = () => {
      const token = identity === null ? undefined : seal?.sign(identity);
      const isSentAgain = seal !== undefined && endpoint.method === 'POST' && mayMoveOn(endpoint);
      return requestHeaders(request, {
        mark: seal?.mark,
        requestId,
        traceparent: context.trace?.traceparent,
        mayMoveOn: isSentAgain,
        isUncounted: identity !== null && identity.accounts.length > 0 && isCountedByService(endpoint),
        token,
        trustProxy,
      });
    };
    if (isSocket(endpoint)) return sockets.enter(request, response, context, endpoint, toService);
    if (request.headers.expect !== undefined) response.writeContinue();
    request.headers = toService();
    forwarder.forward(request, response, context, endpoint);
  };

  return (request: IncomingMessage, response: ServerResponse, next: Next) => {
    const path = pathOf(request.url ?? '/');
    const row = findPath(path);
    if (row === undefined && !API_PREFIXES.some((prefix) => path.startsWith(prefix))) return next();
    const upgrading = isUpgrading(request);
    const context = contexts.open(
      request,
      response,
      upgrading ? socketName(path) : (row?.path ?? UNKNOWN_PATH),
    );
    crossOrigin.allow(request, response);
    if (request.method === 'OPTIONS')
      return crossOrigin.answerOptions(request, response, row?.allow ?? OPTIONS_ANYWHERE);
    if (row?.endpoints.get(request.method ?? '')?.auth === 'public')
      return void admit(request, response, context, row);

    const caller = callerSecretOf(request, path);
    const proceed = (identity: Identity | undefined): void | Promise<void> => {
      if (identity === undefined) throw invalidKey(caller.sentAs);
      // A client secret opens sessions, and nothing else.
      if (identity.clientSecret !== undefined && !(upgrading && path === REALTIME.path))
        throw invalidKey(caller.sentAs);
      const isFoundAgain = identity.secretHash === undefined && (upgrading || path === CLIENT_SECRETS_PATH);
      context.identity = isFoundAgain ? { ...identity, secretHash: hashSecret(caller.secret) } : identity;
      checkVersion(request, context, caller);
      return admit(request, response, context, row);
    };
    const identity = identify(caller.secret);
    const proceeding = identity instanceof Promise ? identity.then(proceed) : proceed(identity);
    if (proceeding instanceof Promise) proceeding.catch(next);
  };
}

function endpointOf(request: IncomingMessage, row: PathRow | undefined): Endpoint {
  const { method, url } = request;
  const socket = socketAt(pathOf(url ?? ''));
  if (socket !== undefined && isUpgrading(request)) return socket;
  const upgrades = isWebSocketHandshake(request);
  if (socket === REALTIME) throw onlySocket(upgrades);
  if (socket !== undefined && upgrades) throw upgradeRefused();
  if (row === undefined || upgrades) throw pathNotFound(method, pathOf(url ?? ''));
  const endpoint = row.endpoints.get(method ?? '');
  if (endpoint !== undefined) return endpoint;
  // A call of a model, whose path looks like that of a model's details.
  if (isKnownMissing(pathOf(url ?? ''))) throw pathNotFound(method, pathOf(url ?? ''));
  throw new GatewayError('method_not_allowed', {
    message: `Not allowed to ${method} on ${row.path}. Allowed here: ${row.allow}.`,
    headers: { allow: row.allow },
  });
}

/** Clients that prefer a WebSocket continue over HTTP at this status. RFC 9110 §15.5.22: a 426 names what to use. */
const upgradeRefused = (): GatewayError =>
  new GatewayError('upgrade_refused', {
    message: `WebSockets are not offered. Send POST ${WEBSOCKET.path} over HTTP, with "stream": true for events.`,
    headers: { upgrade: 'HTTP/1.1', connection: 'upgrade' },
  });

/** What the path has is a WebSocket alone. */
const onlySocket = (upgrades: boolean): GatewayError =>
  upgrades
    ? new GatewayError(
        'upgrade_refused',
        'WebSockets are not offered, and realtime sessions need one. The operator can allow them with EDGE_WEBSOCKETS.',
      )
    : new GatewayError('upgrade_refused', {
        message: `${REALTIME.path} is a WebSocket. Open one, with '?model=' and the name of a realtime model.`,
        headers: { upgrade: 'websocket', connection: 'upgrade' },
      });

function checkScope(endpoint: Endpoint, identity: Identity | null, refusals: Refusals<RefusalReason>): void {
  const { scope } = endpoint;
  if (scope === null || identity === null || identity.endpoints?.includes(scope) !== false) return;
  refusals.add('endpoint', identity, endpoint);
  throw new GatewayError(
    'endpoint_not_allowed',
    `This key may not use this endpoint: it lacks the scope '${scope}'. Ask the person who gave you the key.`,
  );
}

/**
 * Anthropic's API requires a version if the key is in `x-api-key`. Only the edge sees how the key was sent; with a
 * bearer token the version may be absent, and the text service takes 2023-06-01.
 */
function checkVersion(request: IncomingMessage, context: EdgeContext, { sentAs }: CallerSecret): void {
  if (sentAs !== 'x-api-key' || context.dialect !== 'anthropic') return;
  if (request.headers['anthropic-version'] !== undefined) return;
  throw new GatewayError('missing_header', {
    path: ['anthropic-version'],
    message: { openai: "Missing required header: 'anthropic-version'.", anthropic: 'header is required' },
  });
}
