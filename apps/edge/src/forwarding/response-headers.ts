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
    const kind = kindOf(name);
    if (kind === 'removed' || (kind === 'limit' && response.hasHeader(name))) continue;
    headers.push(name, rawHeaders[at + 1] ?? '');
  }
  return headers;
}

const LIMIT_HEADER = /ratelimit/i;

type Kind = 'passed' | 'removed' | 'limit';

/** By a header's name as it is spelled: services send few different ones. */
const kinds = new Map<string, Kind>();
const MAX_KINDS = 1000;

function kindOf(name: string): Kind {
  const known = kinds.get(name);
  if (known !== undefined) return known;
  const kind = REMOVED.has(name.toLowerCase()) ? 'removed' : LIMIT_HEADER.test(name) ? 'limit' : 'passed';
  if (kinds.size >= MAX_KINDS) kinds.clear();
  kinds.set(name, kind);
  return kind;
}
