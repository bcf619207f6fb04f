import type { IncomingMessage } from 'node:http';
import type { Endpoint } from '@gateway/contracts/endpoints/endpoints';

/** Work that a second sending does not repeat. */
const SAFE_METHODS = new Set(['GET', 'HEAD']);

/**
 * New requests for texts, vectors and scores, which clients repeat by themselves after their service was lost (`x-should-retry`), while nothing was
 * sent. Requests that are billed by the piece are not here, nor requests that change something stored.
 */
const REPEATED_PATHS = new Set([
  '/v1/responses',
  '/v1/responses/input_tokens',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/rerank',
  '/v2/rerank',
  '/v1/moderations',
]);

/** Whether a request may be sent to another address of a service that was lost before its reply began. */
export const mayMoveOn = ({ method, path }: Endpoint): boolean =>
  SAFE_METHODS.has(method) || (method === 'POST' && REPEATED_PATHS.has(path));

/**
 * Whether a request only reads. Sent on a kept connection that the service closed in the same moment, it may be sent again to the
 * same service (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
 */
export const isRead = ({ method = '', headers }: IncomingMessage): boolean =>
  SAFE_METHODS.has(method) &&
  headers['content-length'] === undefined &&
  headers['transfer-encoding'] === undefined;
