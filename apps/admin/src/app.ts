import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { Readiness } from '@gateway/service-kit/life/readiness';
import type { MetricsPage } from '@gateway/service-kit/metrics';
import { healthPages, metricsPage } from '@gateway/service-kit/ops';
import { servePages } from '@gateway/service-kit/pages';
import { checkRequest } from '@gateway/service-kit/request/check-request';
import { findContext, openContext, type RequestContext } from '@gateway/service-kit/request/request-context';
import { requestIdOf } from '@gateway/service-kit/request/request-id';
import { type RequestLog, UNKNOWN_PATH } from '@gateway/service-kit/request/request-log';
import compression from 'compression';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { AdminRoute, BodyBounds } from './api/admin-route.ts';
import { mountInstanceProof } from './api/instance-proof.ts';
import { writeAdminError } from './api/write-admin-error.ts';
import { withoutBasePath } from './console/console-address.ts';
import { CONSOLE_PATH } from './console/serve-console.ts';
import { DOCS_PATH } from './console/serve-docs.ts';
import { PLAYGROUND_PATH, type Relay } from './playground/relay.ts';
import { type SocketRelay, wantsSocket } from './playground/relay-socket.ts';
import type { Authenticate, Principal } from './sessions/authenticate.ts';
import { type Access, accessOf } from './sessions/roles.ts';

interface AdminAppOptions extends BodyBounds {
  readonly routes: readonly AdminRoute[];
  readonly authenticate: Authenticate;
  /** What is below the path of the playground. */
  readonly relay: Relay;
  /** The same for a WebSocket. */
  readonly relaySocket: SocketRelay;
  /** The console's pages. */
  readonly console: RequestHandler;
  /** The documentation's pages. */
  readonly docs: RequestHandler;
  /** The path below which browsers see this service. */
  readonly basePath: string;
  /** Throws for a `Host` header that is not this service's. */
  readonly checkHost: (host: string | undefined) => void;
  readonly readiness: Readiness;
  /** For `/metrics`. */
  readonly page: MetricsPage;
  readonly requestLog: RequestLog;
  readonly deadline: AbortSignal;
  /** The key that proves to the command line which instance this is. */
  readonly instanceKey: string | undefined;
}

/**
 * The admin API, the console and the documentation: every path below `/admin` needs the admin token or a session, but for signing in;
 * the files of the other two, health and metrics are open, on a private port. All but health and metrics are served under known names only.
 * Malformed requests are refused before Express, which would answer them itself.
 */
export function createAdminApp(options: AdminAppOptions): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  const pages = { ...healthPages(options.readiness, { showMissing: true }), ...metricsPage(options.page) };
  app.use(servePages(pages));
  mountInstanceProof(app, options.instanceKey);
  app.use((request, _response, next) => {
    options.checkHost(request.headers.host);
    next();
  });
  app.get('/', (_request, response) => response.redirect(options.basePath + CONSOLE_PATH));
  app.use(CONSOLE_PATH, options.console);
  app.use(DOCS_PATH, compressed, options.docs);
  for (const route of options.routes) mountRoute(app, route, options);
  app.use(PLAYGROUND_PATH, async (request, response) => {
    const context = openRequest(options, request, response, PLAYGROUND_PATH);
    const principal = await options.authenticate(request);
    checkRole(principal, accessOf({ method: 'POST', path: PLAYGROUND_PATH }));
    if (wantsSocket(request)) await options.relaySocket(request, response, { principal, context });
    else await options.relay(request, response, { principal, context });
  });
  // `/group-rules/preview` before `/group-rules/{group}`, which fits it, too.
  const byPath = [...Map.groupBy(options.routes, (route) => route.path)].toSorted(
    ([one], [other]) => Number(one.includes('{')) - Number(other.includes('{')),
  );
  for (const [path, routes] of byPath) {
    const allow = routes.map(({ method }) => method).join(', ');
    // `app.all` would make a layer for each method that there is.
    app.route(expressPath(path)).all(begin(options, path), ({ method }) => {
      throw new GatewayError('method_not_allowed', {
        message: `Not allowed to ${method} here. Allowed: ${allow}.`,
        headers: { allow },
      });
    });
  }
  app.use(begin(options, UNKNOWN_PATH), ({ method, path }) => {
    throw new GatewayError('path_not_found', `There is no ${method} ${path}.`);
  });
  const refuse = (error: unknown, request: IncomingMessage, response: ServerResponse) => {
    const context = findContext(request) ?? openRequest(options, request, response, UNKNOWN_PATH);
    writeAdminError(response, error, context);
  };
  const onError: ErrorRequestHandler = (error, request, response, _next) => refuse(error, request, response);
  app.use(onError);
  return (request, response) => {
    try {
      checkRequest(request, response);
      request.url = withoutBasePath(request.url ?? '/', options.basePath);
    } catch (error) {
      return refuse(error, request, response);
    }
    app(request, response);
  };
}

/** For slow lines: a page of a list may have a hundred kilobytes of JSON. What is streamed goes out as it comes. */
const compressed = compression();

function mountRoute(app: Express, route: AdminRoute, options: AdminAppOptions): void {
  const { method, path, handle } = route;
  const access = accessOf(route);
  const verbs = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const;
  const before: RequestHandler[] = Array.isArray(route.description.reply) ? [] : [compressed];
  app[verbs[method]](expressPath(path), ...before, async (request, response) => {
    const { requestId } = openRequest(options, request, response, path);
    const principal = access === 'anyone' ? null : await options.authenticate(request);
    if (principal !== null) checkRole(principal, access);
    response.setHeader('x-request-id', requestId);
    response.setHeader('cache-control', 'no-store');
    const reply = await handle(request, principal, options);
    if ('body' in reply) response.status(reply.status).json(reply.body);
    else if ('location' in reply) response.writeHead(reply.status, { location: reply.location }).end();
    else await sendStream(response, reply);
  });
}

const expressPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

/** Gives the request its context and its log line. */
function openRequest(
  { requestLog, deadline }: AdminAppOptions,
  request: IncomingMessage,
  response: ServerResponse,
  endpoint: string,
): RequestContext {
  const requestId = requestIdOf(request.headers['x-request-id']);
  const context = openContext(request, response, { requestId, identity: null, deadline });
  requestLog.observe(request, response, context, endpoint);
  return context;
}

/** @throws {GatewayError} `endpoint_not_allowed` */
function checkRole({ role }: Principal, access: Access): void {
  if (access === 'anyone' || access.includes(role)) return;
  throw new GatewayError('endpoint_not_allowed', `The role '${role}' may not do this.`);
}

/** Opens the request. Refuses it if the caller is unknown. */
const begin =
  (options: AdminAppOptions, endpoint: string): RequestHandler =>
  async (request, response, next) => {
    openRequest(options, request, response, endpoint);
    await options.authenticate(request);
    next();
  };

interface StreamReply {
  readonly status: number;
  readonly contentType: string;
  readonly stream: AsyncIterable<string>;
}

/**
 * Sends text at the reader's pace. An error before the first piece is thrown and becomes an error reply; after it the
 * connection is cut, so that no client takes a part for the whole.
 */
async function sendStream(
  response: ServerResponse,
  { status, contentType, stream }: StreamReply,
): Promise<void> {
  const pieces = stream[Symbol.asyncIterator]();
  const first = await awaitRedis(pieces.next());
  response.writeHead(status, { 'content-type': contentType });
  const rest = async function* () {
    try {
      for (let piece = first; !piece.done; piece = await pieces.next()) yield piece.value;
    } finally {
      // A stream has something to end when its reader leaves.
      await pieces.return?.();
    }
  };
  // A reader that leaves needs no answer; a failure of Redis is in the log.
  await pipeline(Readable.from(rest()), response);
}
