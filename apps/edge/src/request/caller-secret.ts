import type { IncomingMessage } from 'node:http';
import { dialectOf, REALTIME } from '@gateway/contracts/endpoints/endpoints';
import { GatewayError } from '@gateway/contracts/gateway-error';

export interface CallerSecret {
  readonly secret: string;
  readonly sentAs: 'bearer' | 'x-api-key' | 'x-goog-api-key';
}

const BEARER = /^bearer +(\S+) *$/i;

const GOOGLE_HEADER = 'x-goog-api-key';

/** Google's clients list models where the others do. */
const takesGoogleHeader = (path: string): boolean =>
  dialectOf(path) === 'google' || path === '/v1/models' || path.startsWith('/v1/models/');

/** How browsers send a key, which cannot set headers of a handshake: among the subprotocols that they offer. */
const SUBPROTOCOL = /(?:^|,)[\t ]*openai-insecure-api-key\.([^\t ,]+)/;

/** The paths where Anthropic's clients send their key in `x-api-key`. */
const takesApiKeyHeader = (path: string): boolean =>
  dialectOf(path) === 'anthropic' || path === '/v1/models' || path.startsWith('/v1/models/');

/**
 * The key of a request: from `Authorization: Bearer`, or on Anthropic's paths from `x-api-key`, which there counts before
 * the other (some clients send both); on Google's from `x-goog-api-key`; of a browser's realtime session from its subprotocols. Never from the query (`?key=`), which proxies log.
 *
 * @throws {GatewayError} `missing_key` without either, `invalid_key` for another kind of authorization
 */
export function callerSecretOf(request: IncomingMessage, path: string): CallerSecret {
  const apiKey = request.headers['x-api-key'];
  if (typeof apiKey === 'string' && apiKey !== '' && takesApiKeyHeader(path))
    return { secret: apiKey, sentAs: 'x-api-key' };
  const { authorization } = request.headers;
  if (takesGoogleHeader(path)) {
    const googleKey = request.headers[GOOGLE_HEADER];
    if (typeof googleKey === 'string' && googleKey !== '')
      return { secret: googleKey, sentAs: GOOGLE_HEADER };
    if (dialectOf(path) === 'google' && (authorization ?? '') === '') throw missingGoogleKey();
  }
  if (path === REALTIME.path && (authorization ?? '') === '') {
    const offered = SUBPROTOCOL.exec(request.headers['sec-websocket-protocol'] ?? '')?.[1];
    if (offered !== undefined) return { secret: offered, sentAs: 'bearer' };
  }
  if (authorization === undefined || authorization === '') throw missingKey();
  const secret = BEARER.exec(authorization)?.[1];
  if (secret === undefined) throw invalidKey('bearer');
  return { secret, sentAs: 'bearer' };
}

/** RFC 9110 §15.5.2: a 401 names the way to authenticate. */
const headers = { 'www-authenticate': 'Bearer' };

const missingKey = (): GatewayError =>
  new GatewayError('missing_key', {
    message: {
      openai:
        "You didn't provide an API key. Send your gateway key in an Authorization header with Bearer auth (Authorization: Bearer YOUR_KEY).",
      anthropic: 'x-api-key header is required',
    },
    headers,
  });

const missingGoogleKey = (): GatewayError =>
  new GatewayError('missing_key', {
    message: `You didn't provide an API key. Send your gateway key in an ${GOOGLE_HEADER} header; keys in a URL (?key=) are not taken, because URLs are logged.`,
    headers,
  });

/** The same for an unknown, a revoked, an expired and a disabled key: the error does not reveal which. */
export const invalidKey = (sentAs: CallerSecret['sentAs']): GatewayError =>
  new GatewayError('invalid_key', {
    message: {
      openai: 'Incorrect API key provided. Check that it is complete and that it has not been revoked.',
      anthropic: sentAs === 'x-api-key' ? 'invalid x-api-key' : 'Invalid bearer token',
    },
    headers,
  });
