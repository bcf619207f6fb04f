import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';
import type { TextEndpoint } from '../text-endpoint.ts';

const VERSION = 'anthropic-version';
/** What a Messages request means that comes with a Bearer key and names no version (protocol §1). */
const DEFAULT_VERSION = '2023-06-01';

/**
 * The caller's headers for a channel of the same protocol; what is not for providers is taken out where they are sent.
 */
export function upstreamRequestHeaders(
  { protocol }: Pick<TextEndpoint, 'protocol'>,
  { headers }: Pick<IncomingMessage, 'headers'>,
): IncomingHttpHeaders {
  return protocol !== 'messages' || headers[VERSION] !== undefined
    ? headers
    : { ...headers, [VERSION]: DEFAULT_VERSION };
}

/** @throws {GatewayError} for a Messages request that came with `x-api-key` and names no version */
export function checkVersion(
  { protocol }: Pick<TextEndpoint, 'protocol'>,
  { headers }: Pick<IncomingMessage, 'headers'>,
): void {
  if (protocol !== 'messages' || headers[VERSION] !== undefined) return;
  if (headers[INTERNAL_HEADERS.authScheme] !== 'x-api-key') return;
  throw new GatewayError('missing_header', { message: `${VERSION}: header is required` });
}
