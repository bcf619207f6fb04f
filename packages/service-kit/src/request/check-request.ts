import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';

/** The property of a connection on which nothing is read as a request any more. */
const isOver: unique symbol = Symbol('is over');
declare module 'node:net' {
  interface Socket {
    [isOver]?: true;
  }
}

/**
 * Refuses a request whose framing or target two HTTP implementations could understand differently, beyond
 * what Node's parser refuses. Call it before anything of the request is used or passed on. Where the framing is refused, the
 * connection ends with this answer: nobody knows where the next request would begin.
 *
 * @throws {GatewayError} `malformed_request`
 */
export function checkRequest(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  try {
    // Node's parser has read on. The answer to this request is never sent.
    if (socket[isOver] === true)
      throw malformed('A request before this one on its connection was malformed.');
    checkFraming(request);
  } catch (error) {
    socket[isOver] = true;
    response.shouldKeepAlive = false;
    throw error;
  }
  checkTarget(request.url ?? '');
}

/** RFC 9110 §9.3: content has no meaning in these, and Node's client sends theirs without framing. */
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']);

/** Whether a request that was checked can have a body, by its method alone. */
export const mayHaveBody = (method: string): boolean => !WITHOUT_BODY.has(method);

/** Whether the head of a request announces a body. */
export const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

function checkFraming({ method = '', headers, httpVersion }: IncomingMessage): void {
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    throw malformed('The version of HTTP must be 1.1 or 1.0.');
  const { expect } = headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue')
    throw malformed("The only supported expectation is '100-continue'.");
  const encoding = headers['transfer-encoding'];
  if (!hasBody(headers)) return;
  if (!mayHaveBody(method))
    throw malformed(`${method} requests must not have a body. Send this one without it.`);
  if (encoding === undefined) return;
  // RFC 9112 §6.1: other codings could only be passed on undecoded, and HTTP/1.0 has none.
  if (encoding.toLowerCase() !== 'chunked' || httpVersion === '1.0')
    throw malformed("The only transfer encoding that is accepted is 'chunked', in HTTP/1.1.");
}

const CONTROL_CHARACTER = /\p{Cc}/u;

function checkTarget(url: string): void {
  if (!url.startsWith('/')) throw malformed("The request target must be a path that begins with '/'.");
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  if (!path.includes('%')) return;
  const decoded = decode(path);
  if (decoded === undefined)
    throw malformed('The path has a malformed percent-escape. Escape text as UTF-8 (encodeURIComponent).');
  if (CONTROL_CHARACTER.test(decoded)) throw malformed('The path has an escaped control character.');
}

function decode(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

const malformed = (message: string): GatewayError => new GatewayError('malformed_request', message);
