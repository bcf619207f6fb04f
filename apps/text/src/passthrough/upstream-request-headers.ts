import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { TextEndpoint } from '../call/text-endpoint.ts';

const VERSION = 'anthropic-version';
/** What a Messages request means that names no version; the edge has refused it unless its key came as a Bearer token. */
const DEFAULT_VERSION = '2023-06-01';

/**
 * The caller's headers for a channel of the same protocol; where they are sent, those stay that are not on its list.
 */
export function upstreamRequestHeaders(
  { protocol }: Pick<TextEndpoint, 'protocol'>,
  { headers }: Pick<IncomingMessage, 'headers'>,
): IncomingHttpHeaders {
  return protocol !== 'messages' || headers[VERSION] !== undefined
    ? headers
    : { ...headers, [VERSION]: DEFAULT_VERSION };
}
