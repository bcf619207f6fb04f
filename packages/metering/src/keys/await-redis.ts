import { GatewayError } from '@gateway/contracts/gateway-error';

/** How soon a caller may try again while Redis is away. */
const RETRY_AFTER_SECONDS = 2;

/**
 * Waits for a Redis command.
 *
 * @throws {GatewayError} its own; `service_unavailable` when it fails with anything else
 */
export async function awaitRedis<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError('service_unavailable', {
      message: `The gateway cannot check keys at the moment. Please try again in ${RETRY_AFTER_SECONDS} seconds.`,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
      cause,
    });
  }
}
