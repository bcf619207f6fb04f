import type { IncomingMessage } from 'node:http';

/** What does not travel back to a caller: headers of the inner connection (RFC 9110 §7.6.1), and what names the server. */
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
  // Set anew below.
  'x-request-id',
  'request-id',
]);

/** The headers that a caller gets for a service's reply: flat, names and values in turn, spelled as the service did. */
export function responseHeaders(reply: IncomingMessage, requestId: string): string[] {
  const { rawHeaders } = reply;
  const headers = ['x-request-id', requestId, 'request-id', requestId];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (!REMOVED.has(name.toLowerCase())) headers.push(name, rawHeaders[at + 1] ?? '');
  }
  return headers;
}
