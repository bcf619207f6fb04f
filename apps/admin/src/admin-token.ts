import { createHash, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '@gateway/contracts/gateway-error';

const BEARER = /^bearer +(\S+) *$/i;

/** A digest, so that any tokens have equal lengths for the comparison in constant time. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Makes the check of an `Authorization` header against the admin token.
 *
 * @throws {GatewayError} `missing_key` without a bearer token, `invalid_key` for another one (by the check)
 */
export function createTokenCheck(token: string): (authorization: string | undefined) => void {
  const expected = digest(token);
  return (authorization) => {
    const sent = BEARER.exec(authorization ?? '')?.[1];
    if (sent === undefined)
      throw refusal('missing_key', 'Send the admin token: Authorization: Bearer GATEWAY_ADMIN_TOKEN.');
    if (!timingSafeEqual(digest(sent), expected))
      throw refusal('invalid_key', 'This is not the admin token.');
  };
}

const refusal = (code: 'missing_key' | 'invalid_key', message: string): GatewayError =>
  new GatewayError(code, { message, headers: { 'www-authenticate': 'Bearer' } });
