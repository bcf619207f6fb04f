import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';
import { WEBHOOK_HEADER } from '@gateway/contracts/webhooks';

/** What does not travel on to a service. */
const REMOVED = new Set([
  // RFC 9110 §7.6.1: these concern the connection to us alone. (`proxy-connection` and `keep-alive` are older habits.)
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  // Node frames a body without a length by itself, as chunks: nothing else gets here (`checkRequest`).
  'transfer-encoding',
  'upgrade',
  // §10.1.1: we have answered it ourselves.
  'expect',
  // The caller's credentials end here.
  'authorization',
  'cookie',
  'x-api-key',
  // Set anew below.
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  INTERNAL_HEADERS.requestId,
]);

const INTERNAL_PREFIX = 'x-gateway-';
/** The members of our own family of headers that callers may send. */
const CALLERS_OWN = new Set(['x-gateway-strict', WEBHOOK_HEADER]);

/**
 * What `Connection` cannot remove (RFC 9110 §7.6.1: never what is meant for all recipients): the framing and the
 * description of the body, and what the gateway or its protocols act on.
 */
const END_TO_END =
  /^(accept|anthropic|content|if|openai|x-gateway)-|^(accept|host|idempotency-key|prefer|range)$/;

/** These two words are no headers. */
const PLAIN_CONNECTION = /^(keep-alive|close)$/i;

interface Added {
  /** Stands first: a service knows by it where a request begins. Undefined for a service in this process. */
  readonly mark: string | undefined;
  readonly requestId: string;
  /** The signed identity; undefined on public paths, and for a service in this process. */
  readonly token: string | undefined;
  /** Whether the caller's `x-forwarded-*` are a trusted proxy's, and continued. */
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
  if (added.token !== undefined) headers[INTERNAL_HEADERS.identity] = added.token;
  return headers;
}

/** The further headers that end here because `Connection` names them. */
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
