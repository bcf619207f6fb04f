import type { ServerResponse } from 'node:http';

/** Headers that a caller does not get: those of the inner connection (RFC 9110 §7.6.1), and what names the server. */
const REMOVED = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'server',
  'x-powered-by',
  // Set again below.
  'x-request-id',
  'request-id',
]);

/**
 * The headers that a caller gets for a service's reply: flat, names and values in turn, spelled as the service did.
 * The limits that the edge has set on the response are the caller's own and replace a provider's.
 */
export function responseHeaders(
  rawHeaders: readonly string[],
  response: ServerResponse,
  requestId: string,
): string[] {
  const headers = ['x-request-id', requestId, 'request-id', requestId];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (!REMOVED.has(name.toLowerCase()) && !isOwnLimit(name, response))
      headers.push(name, rawHeaders[at + 1] ?? '');
  }
  return headers;
}

const LIMIT_HEADER = /ratelimit/i;

const isOwnLimit = (name: string, response: ServerResponse): boolean =>
  LIMIT_HEADER.test(name) && response.hasHeader(name);
