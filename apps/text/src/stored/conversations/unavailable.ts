import { GatewayError } from '@gateway/contracts/gateway-error';

/** What callers are told while Redis, or the place of large parts, is away. */
export function unavailable(cause: unknown): never {
  throw new GatewayError('service_unavailable', {
    message: 'Stored conversations cannot be found at the moment. Please try again shortly.',
    retryAfterSeconds: 1,
    cause,
  });
}
