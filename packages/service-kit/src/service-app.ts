import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ENDPOINTS, type ServiceName } from '@gateway/contracts/endpoints';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { type Identity, INTERNAL_HEADERS } from '@gateway/contracts/identity';
import express, { type ErrorRequestHandler, type RequestHandler, type Router } from 'express';
import { checkRequest } from './check-request.ts';
import { isStray } from './edge-connection.ts';
import type { Metrics } from './metrics.ts';
import { mountHealth, mountMetrics } from './ops.ts';
import type { Readiness } from './readiness.ts';
import { findContext, openContext, type RequestContext } from './request-context.ts';
import { requestIdOf } from './request-id.ts';
import { type RequestLog, UNKNOWN_PATH } from './request-log.ts';
import { writeError } from './write-error.ts';

export interface ServiceAppOptions {
  readonly service: ServiceName;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  readonly requestLog: RequestLog;
  readonly verifyIdentity: (token: string) => Identity | undefined;
  readonly deadline: AbortSignal;
  /** One handler for each of the service's rows in the table of endpoints, named `METHOD /path/{id}`. */
  readonly handlers: Readonly<Record<string, RequestHandler>>;
}

/**
 * A service behind the edge: its rows of the table of endpoints, each taking only requests whose identity the edge
 * signed, its health and metrics, its one log line per request, and the one place where errors become replies. Express
 * sees only requests that are well-formed: it would answer others itself.
 *
 * @throws {Error} at start when a row of the table has no handler or a handler has no row
 */
export function createServiceApp(options: ServiceAppOptions): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  mountEndpoints(app, options);
  mountHealth(app, options.readiness, { tellMissing: true });
  mountMetrics(app, options.metrics);
  app.use((request) => {
    throw new GatewayError('path_not_found', `Invalid URL (${request.method} ${request.path})`);
  });
  const refuse = (error: unknown, request: IncomingMessage, response: ServerResponse) =>
    writeError(response, error, findContext(request) ?? openUnknown(options, request, response));
  const onError: ErrorRequestHandler = (error, request, response, _next) => refuse(error, request, response);
  app.use(onError);
  return (request, response) => {
    try {
      refuseForeign(request, response);
    } catch (error) {
      return refuse(error, request, response);
    }
    app(request, response);
  };
}

/**
 * Ends the connection of a request that the edge would not send. A stray one gets no reply: it would be read as the
 * reply to somebody's request.
 */
function refuseForeign(request: IncomingMessage, response: ServerResponse): void {
  const { shouldKeepAlive } = response;
  response.shouldKeepAlive = false;
  if (isStray(request)) {
    request.socket.destroy();
    throw new GatewayError('malformed_request', 'The request does not begin as those of the edge do.');
  }
  checkRequest(request);
  response.shouldKeepAlive = shouldKeepAlive;
}

function mountEndpoints(router: Router, options: ServiceAppOptions): void {
  const unused = new Set(Object.keys(options.handlers));
  for (const { method, path, service, auth } of ENDPOINTS) {
    if (service !== options.service) continue;
    const name = `${method} ${path}`;
    const handler = options.handlers[name];
    if (handler === undefined) throw new Error(`no handler for ${name}`);
    unused.delete(name);
    const verb = method === 'GET' ? 'get' : method === 'POST' ? 'post' : 'delete';
    router[verb](path.replaceAll(/\{(\w+)\}/g, ':$1'), openRequest(options, path, auth), handler);
  }
  if (unused.size > 0) throw new Error(`handlers without an endpoint: ${[...unused].join(', ')}`);
}

function openRequest(
  { verifyIdentity, deadline, requestLog }: ServiceAppOptions,
  endpoint: string,
  auth: 'key' | 'public',
): RequestHandler {
  return (request, response, next) => {
    const token = request.headers[INTERNAL_HEADERS.identity];
    const identity = typeof token === 'string' ? verifyIdentity(token) : undefined;
    const requestId = requestIdOf(request.headers[INTERNAL_HEADERS.requestId]);
    const context = openContext(request, response, { requestId, identity: identity ?? null, deadline });
    requestLog.observe(request, response, context, endpoint);
    if (identity === undefined && auth === 'key') {
      throw new GatewayError('missing_key', {
        message: 'This service answers only requests that came through the gateway. Call the gateway itself.',
      });
    }
    next();
  };
}

/** The context of a request that failed before it reached an endpoint. */
function openUnknown(
  { requestLog, deadline }: ServiceAppOptions,
  request: IncomingMessage,
  response: ServerResponse,
): RequestContext {
  const requestId = requestIdOf(request.headers[INTERNAL_HEADERS.requestId]);
  const context = openContext(request, response, { requestId, identity: null, deadline });
  requestLog.observe(request, response, context, UNKNOWN_PATH);
  return context;
}
