import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';

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
const CALLERS_OWN = new Set(['x-gateway-strict']);

/** RFC 9110 §7.6.1: `Connection` may name further headers that end here; these two words are no headers. */
const PLAIN_CONNECTION = /^(keep-alive|close)$/i;

/** Methods whose body Node frames by itself when no length is given; others keep the caller's framing. */
const FRAMED_BY_NODE = new Set(['POST', 'PUT', 'PATCH']);

interface Added {
  readonly requestId: string;
  /** The signed identity; undefined on public paths. */
  readonly token: string | undefined;
  /** Whether the caller's `x-forwarded-*` are a trusted proxy's, and continued. */
  readonly trustProxy: boolean;
}

/** The headers that a service gets for a request. */
export function requestHeaders(request: IncomingMessage, added: Added): IncomingHttpHeaders {
  const sent = request.headers;
  const headers: IncomingHttpHeaders = {};
  const named = namedByConnection(sent.connection);
  for (const name in sent) {
    if (REMOVED.has(name) || named?.has(name)) continue;
    if (name.startsWith(INTERNAL_PREFIX) && !CALLERS_OWN.has(name)) continue;
    headers[name] = sent[name];
  }
  if (sent['transfer-encoding'] !== undefined && !FRAMED_BY_NODE.has(request.method ?? ''))
    headers['transfer-encoding'] = sent['transfer-encoding'];
  addForwarded(headers, request, added.trustProxy);
  headers[INTERNAL_HEADERS.requestId] = added.requestId;
  if (added.token !== undefined) headers[INTERNAL_HEADERS.identity] = added.token;
  return headers;
}

function namedByConnection(connection: string | undefined): Set<string> | undefined {
  if (connection === undefined || PLAIN_CONNECTION.test(connection)) return undefined;
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}

function addForwarded(headers: IncomingHttpHeaders, request: IncomingMessage, trustProxy: boolean): void {
  const sent = request.headers;
  const address = request.socket.remoteAddress ?? 'unknown';
  const before = trustProxy ? sent['x-forwarded-for'] : undefined;
  headers['x-forwarded-for'] = before === undefined ? address : `${before}, ${address}`;
  headers['x-forwarded-proto'] = (trustProxy ? sent['x-forwarded-proto'] : undefined) ?? 'http';
}
