import { GatewayError } from '@gateway/contracts/gateway-error';

/** The error of callers while Redis, or the storage of large parts, is unavailable. */
export function unavailable(cause: unknown): never {
  throw new GatewayError('service_unavailable', {
    message: 'Stored conversations cannot be found at the moment. Please try again shortly.',
    retryAfterSeconds: 1,
    cause,
  });
}
