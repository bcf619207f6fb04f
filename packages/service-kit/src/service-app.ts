import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ENDPOINTS, type Endpoint, type ServiceName } from '@gateway/contracts/endpoints/endpoints';
import { createPathTable, paramsOf, pathOf } from '@gateway/contracts/endpoints/path-table';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { type Identity, INTERNAL_HEADERS } from '@gateway/contracts/identity';
import { writeError } from './error-response.ts';
import { isStray } from './identity/edge-connection.ts';
import type { Readiness } from './life/readiness.ts';
import type { LoadGuard } from './load/load-guard.ts';
import { type Metrics, pageOf } from './metrics.ts';
import { healthPages, metricsPage, readinessChangesPage } from './ops.ts';
import { servePages } from './pages.ts';
import { checkRequest } from './request/check-request.ts';
import type { Handler } from './request/handler.ts';
import {
  contextOf,
  createContext,
  findContext,
  openContext,
  type RequestContext,
  takeRequest,
} from './request/request-context.ts';
import { requestIdOf } from './request/request-id.ts';
import { type RequestLog, UNKNOWN_PATH } from './request/request-log.ts';
import type { Tracing } from './tracing/tracing.ts';

export interface ServiceAppOptions {
  readonly service: ServiceName;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  readonly requestLog: RequestLog;
  readonly verifyIdentity: (token: string) => Identity | undefined;
  readonly deadline: AbortSignal;
  readonly load: LoadGuard;
  /** Undefined: no traces are exported. */
  readonly tracing?: Tracing | undefined;
  /** One handler for each endpoint of the service, named `METHOD /path/{id}`. */
  readonly handlers: Readonly<Record<string, Handler>>;
}

/** Calls an endpoint's handler for a request that the edge has let in, and that has a context. Any error becomes the reply. */
export type Dispatch = (endpoint: Endpoint, request: IncomingMessage, response: ServerResponse) => void;

/** How the end of a request is observed. */
type Observe = RequestLog['observe'];
type Serve = (
  endpoint: Endpoint,
  request: IncomingMessage,
  response: ServerResponse,
  observe: Observe,
) => void;

/** A service: in the edge's own process, or as a server of its own. */
export interface Service {
  /** Takes requests with the context that an edge in this process has given them; that edge writes their lines. */
  readonly dispatch: Dispatch;
  /** Takes only requests whose identity the edge signed; also serves health and metrics. */
  readonly app: RequestListener;
}

/**
 * A service's endpoints, its one log line per request, and the one function that turns errors into
 * replies.
 *
 * @throws {Error} at start when a row of the table has no handler or a handler has no row
 */
export function createService(options: ServiceAppOptions): Service {
  const { requestLog } = options;
  const serve = createServe(options);
  return {
    dispatch: (endpoint, request, response) => serve(endpoint, request, response, requestLog.count),
    app: createServiceApp(options, serve),
  };
}

function createServe({ service, handlers, deadline, load: guard }: ServiceAppOptions): Serve {
  const handlerOf = new Map<Endpoint, Handler>();
  const unused = new Set(Object.keys(handlers));
  for (const endpoint of ENDPOINTS) {
    if (endpoint.service !== service) continue;
    const name = `${endpoint.method} ${endpoint.path}`;
    const handler = handlers[name];
    if (handler === undefined) throw new Error(`no handler for ${name}`);
    unused.delete(name);
    handlerOf.set(endpoint, handler);
  }
  if (unused.size > 0) throw new Error(`handlers without an endpoint: ${[...unused].join(', ')}`);

  return (endpoint, request, response, observe) => {
    const { identity } = contextOf(request);
    const load = guard.begin(endpoint, identity);
    const context = takeRequest(request, response, { deadline, load });
    observe(request, response, context, endpoint.path);
    const fail = (error: unknown) => writeError(response, error, context);
    if (identity === null && endpoint.auth === 'key') return fail(notThroughGateway());
    const handler = handlerOf.get(endpoint);
    if (handler === undefined) return fail(new Error(`${endpoint.path} is not an endpoint of ${service}`));
    try {
      const params = paramsOf(endpoint, pathOf(request.url ?? '/'));
      load.admit(bodyBytesOf(request));
      const handling = handler(request, response, params);
      if (handling instanceof Promise) handling.catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}

/** Bytes of the body in memory, as announced; forms are stored on disk as they arrive. */
function bodyBytesOf({ headers }: IncomingMessage): number {
  if (headers['content-type']?.startsWith('multipart/') === true) return 0;
  return Number(headers['content-length'] ?? 0);
}

const notThroughGateway = (): GatewayError =>
  new GatewayError('missing_key', {
    message: 'This service answers only requests that came through the gateway. Call the gateway itself.',
  });

/** Malformed requests are refused first; then those for an endpoint go by a table. */
function createServiceApp(options: ServiceAppOptions, serve: Serve): RequestListener {
  const dispatched = createDispatched(options, serve);
  const serveOps = servePages({
    ...healthPages(options.readiness, { showMissing: true }),
    ...readinessChangesPage(options.readiness),
    ...metricsPage(pageOf(options.metrics)),
  });
  const refuse = (error: unknown, request: IncomingMessage, response: ServerResponse) =>
    writeError(response, error, findContext(request) ?? openUnknown(options, request, response));
  return (request, response) => {
    try {
      refuseForeign(request, response);
      if (dispatched(request, response)) return;
    } catch (error) {
      return refuse(error, request, response);
    }
    serveOps(request, response, (error = noSuchPath(request)) => refuse(error, request, response));
  };
}

const noSuchPath = ({ method, url = '/' }: IncomingMessage): GatewayError =>
  new GatewayError('path_not_found', `Invalid URL (${method} ${pathOf(url)})`);

/**
 * Ends the connection of a request that the edge would not send. Such a request gets no reply: it would be read as the
 * reply to another caller's request.
 */
function refuseForeign(request: IncomingMessage, response: ServerResponse): void {
  const { shouldKeepAlive } = response;
  response.shouldKeepAlive = false;
  if (isStray(request)) {
    request.socket.destroy();
    throw new GatewayError('malformed_request', 'The request does not begin as those of the edge do.');
  }
  checkRequest(request, response);
  response.shouldKeepAlive = shouldKeepAlive;
}

/** Whether a request was for an endpoint, and so is handled. */
function createDispatched(
  { service, verifyIdentity, deadline, requestLog, tracing }: ServiceAppOptions,
  serve: Serve,
) {
  const findPath = createPathTable(ENDPOINTS.filter((endpoint) => endpoint.service === service));
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const { url = '/', method = '', headers } = request;
    const endpoint = findPath(pathOf(url))?.endpoints.get(method);
    if (endpoint === undefined) return false;
    const token = headers[INTERNAL_HEADERS.identity];
    const identity = (typeof token === 'string' ? verifyIdentity(token) : undefined) ?? null;
    const requestId = requestIdOf(headers[INTERNAL_HEADERS.requestId]);
    const trace = tracing?.continued(headers[INTERNAL_HEADERS.trace], 'internal');
    createContext(request, { requestId, identity, deadline, trace });
    serve(endpoint, request, response, requestLog.observe);
    return true;
  };
}

/** The context of a request that failed before it reached an endpoint. */
function openUnknown(
  { requestLog, deadline, tracing }: ServiceAppOptions,
  request: IncomingMessage,
  response: ServerResponse,
): RequestContext {
  const requestId = requestIdOf(request.headers[INTERNAL_HEADERS.requestId]);
  const trace = tracing?.continued(request.headers[INTERNAL_HEADERS.trace], 'internal');
  const context = openContext(request, response, { requestId, identity: null, deadline, trace });
  requestLog.observe(request, response, context, UNKNOWN_PATH);
  return context;
}
