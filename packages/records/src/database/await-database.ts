import { GatewayError } from '@gateway/contracts/gateway-error';
import { QueryError } from './database.ts';

const RETRY_AFTER_SECONDS = 5;

/**
 * Waits for the database.
 *
 * @param meanwhile what that means for who asked
 * @throws {GatewayError} `service_unavailable` where it does not answer
 */
export async function awaitDatabase<T>(answer: Promise<T>, meanwhile: string): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw cause instanceof QueryError ? databaseAway(meanwhile, cause) : cause;
  }
}

export const databaseAway = (meanwhile: string, cause?: unknown): GatewayError =>
  new GatewayError('service_unavailable', {
    message: `The database does not answer at the moment. ${meanwhile} Please try again in ${RETRY_AFTER_SECONDS} seconds.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });
