import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';

/** The mark with which every request of the edge begins: the same for all edges of an installation, secret from callers. */
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
 * Whether the edge did not send this request, though the connection is the edge's. Then bytes of a caller were parsed as
 * the beginning of a request, and no later bytes on the connection can be trusted.
 *
 * Every request of the edge begins with the mark, after the two lines that undici writes by itself. A caller's bytes
 * cannot contain the mark; if they swallow the request that follows them, at least its first line precedes its mark.
 */
export function isStray({ socket, rawHeaders }: IncomingMessage): boolean {
  const mark = markOf(rawHeaders);
  const expected = socket[markOfConnection];
  if (expected === undefined) socket[markOfConnection] = mark;
  // What came in the same packet as a stray request is still parsed.
  return typeof expected === 'string' && (mark !== expected || socket.destroyed);
}

const WRITTEN_BY_UNDICI = ['host', 'connection'];

function markOf(rawHeaders: readonly string[]): string | null {
  const nameAt = (line: number) => rawHeaders[2 * line]?.toLowerCase();
  const line = WRITTEN_BY_UNDICI.every((name, at) => nameAt(at) === name) ? WRITTEN_BY_UNDICI.length : 0;
  return nameAt(line) === INTERNAL_HEADERS.edge ? (rawHeaders[2 * line + 1] ?? '') : null;
}
