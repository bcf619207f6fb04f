import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { CONTENT_LOG_HEADER } from '@gateway/contracts/content-log';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';
import { TRACEPARENT_HEADER } from '@gateway/contracts/trace/trace-context';
import { CALLER_NAME_HEADERS } from '@gateway/contracts/usage/caller-names';
import { WEBHOOK_HEADER } from '@gateway/contracts/webhooks';
import { requestIdOf } from '@gateway/service-kit/request/request-id';

/** Headers that are not passed on to a service. */
const REMOVED = new Set([
  // RFC 9110 §7.6.1: these concern the connection to the edge alone. (`proxy-connection` and `keep-alive` are older habits.)
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  // Node frames a body without a length by itself, as chunks: nothing else passes `checkRequest`.
  'transfer-encoding',
  'upgrade',
  // §10.1.1: the edge has answered it itself.
  'expect',
  // The caller's credentials are not passed on.
  'authorization',
  'cookie',
  'x-api-key',
  'x-goog-api-key',
  // Set again below.
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  INTERNAL_HEADERS.requestId,
  // The trace goes on by a header of our own; these two are passed on to nobody.
  TRACEPARENT_HEADER,
  'tracestate',
  'baggage',
]);

const INTERNAL_PREFIX = 'x-gateway-';
/** The members of our own family of headers that callers may send. */
const CALLERS_OWN = new Set([
  'x-gateway-strict',
  WEBHOOK_HEADER,
  CONTENT_LOG_HEADER,
  ...Object.values(CALLER_NAME_HEADERS),
]);

/**
 * What `Connection` cannot remove (RFC 9110 §7.6.1: never headers for all recipients): the framing and the description
 * of the body, and the headers that the gateway or its protocols use.
 */
const END_TO_END =
  /^(accept|anthropic|content|if|openai|x-gateway)-|^(accept|host|idempotency-key|prefer|range)$/;

/** These two words are not headers. */
const PLAIN_CONNECTION = /^(keep-alive|close)$/i;

interface Added {
  /** The first header: it marks the beginning of a request for a service. Undefined for a service in this process. */
  readonly mark: string | undefined;
  readonly requestId: string;
  /** See `INTERNAL_HEADERS.trace`; undefined where no traces are exported. */
  readonly traceparent: string | undefined;
  /** Whether it may be sent again after it has changed something. */
  readonly mayMoveOn: boolean;
  /** Whether the service counts the request on its limits on requests. */
  readonly isUncounted: boolean;
  /** The signed identity; undefined on public paths, and for a service in this process. */
  readonly token: string | undefined;
  /** Whether the caller's `x-forwarded-*` come from a trusted proxy and are extended. */
  readonly trustProxy: boolean;
}

/** The headers that a service gets for a request. */
export function requestHeaders(request: IncomingMessage, added: Added): IncomingHttpHeaders {
  const sent = request.headers;
  const headers: IncomingHttpHeaders = {};
  if (added.mark !== undefined) headers[INTERNAL_HEADERS.edge] = added.mark;
  const named = namedByConnection(sent.connection);
  for (const name in sent) {
    if (REMOVED.has(name) || named?.has(name)) continue;
    if (name.startsWith(INTERNAL_PREFIX) && !CALLERS_OWN.has(name)) continue;
    headers[name] = sent[name];
  }
  // A service in this process reads the body from the caller's own connection.
  if (added.mark === undefined && sent['transfer-encoding'] !== undefined)
    headers['transfer-encoding'] = sent['transfer-encoding'];
  addForwarded(headers, request, added.trustProxy);
  headers[INTERNAL_HEADERS.requestId] = added.requestId;
  if (added.traceparent !== undefined) headers[INTERNAL_HEADERS.trace] = added.traceparent;
  if (added.mayMoveOn) headers[INTERNAL_HEADERS.delivery] = requestIdOf(undefined);
  if (added.isUncounted) headers[INTERNAL_HEADERS.uncounted] = '1';
  if (added.token !== undefined) headers[INTERNAL_HEADERS.identity] = added.token;
  return headers;
}

/** The further headers that are removed because `Connection` names them. */
function namedByConnection(connection: string | undefined): Set<string> | undefined {
  if (connection === undefined || PLAIN_CONNECTION.test(connection)) return undefined;
  const names = connection.split(',').map((name) => name.trim().toLowerCase());
  return new Set(names.filter((name) => !END_TO_END.test(name)));
}

function addForwarded(headers: IncomingHttpHeaders, request: IncomingMessage, trustProxy: boolean): void {
  const sent = request.headers;
  const address = request.socket.remoteAddress ?? 'unknown';
  const before = trustProxy ? sent['x-forwarded-for'] : undefined;
  headers['x-forwarded-for'] = before === undefined ? address : `${before}, ${address}`;
  headers['x-forwarded-proto'] = (trustProxy ? sent['x-forwarded-proto'] : undefined) ?? 'http';
}
