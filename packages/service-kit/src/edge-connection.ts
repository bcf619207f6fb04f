import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';

/** What every request of the edge begins with: the same for all edges of an installation, and unknown to callers. */
export const edgeMark = (secret: string): string =>
  createHmac('sha256', secret).update('edge').digest('base64url');

/** The mark that a connection's first request began with; null where it had none. */
const markOfConnection: unique symbol = Symbol('mark of connection');
declare module 'node:net' {
  interface Socket {
    [markOfConnection]?: string | null;
  }
}

/**
 * Whether the edge did not send this request, though the connection is the edge's. Then bytes of a caller were taken
 * for the beginning of a request: what follows on the connection belongs to nobody.
 *
 * Every request of the edge begins with the mark. A caller's bytes cannot, and where they swallow the request that
 * follows them, its mark is no longer the first header.
 */
export function isStray({ socket, rawHeaders }: IncomingMessage): boolean {
  const [name = '', value = ''] = rawHeaders;
  const mark = name.toLowerCase() === INTERNAL_HEADERS.edge ? value : null;
  const expected = socket[markOfConnection];
  if (expected === undefined) socket[markOfConnection] = mark;
  // What came in the same packet as a stray request is still parsed.
  return typeof expected === 'string' && (mark !== expected || socket.destroyed);
}
