import { GatewayError } from '@gateway/contracts/gateway-error';

const AWAY_RETRY_AFTER_SECONDS = 5;

/** Turns every error of Redis into `service_unavailable`: the caller has done nothing wrong. */
export async function unlessAway<Value>(answer: Promise<Value>): Promise<Value> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new GatewayError('service_unavailable', {
      message: `The queue cannot be reached. Please try again in ${AWAY_RETRY_AFTER_SECONDS}s.`,
      retryAfterSeconds: AWAY_RETRY_AFTER_SECONDS,
      cause: error,
    });
  }
}

/** The reason in the log for a caller who left. */
export const leaving = (reason: unknown): GatewayError =>
  reason instanceof GatewayError
    ? reason
    : new GatewayError('client_closed_request', {
        message: 'The caller left before the job was done.',
        cause: reason,
      });

export const waitedTooLong = (): GatewayError =>
  new GatewayError('service_timeout', {
    message: 'The job was not done in time and has been cancelled. Send the request again later.',
    retryAfterSeconds: AWAY_RETRY_AFTER_SECONDS,
  });
