import { GatewayError, SerializedError } from '@gateway/contracts/gateway-error';

/** How a failed job's reason is written into Redis. */
export const encodeFailure = (error: GatewayError): string => JSON.stringify(error.serialize());

/** Reads a failed job's reason. A reason that BullMQ wrote itself means that the worker died. */
export function decodeFailure(reason: string): GatewayError {
  try {
    return GatewayError.deserialize(SerializedError.parse(JSON.parse(reason)));
  } catch {
    return outcomeUnknown();
  }
}

/** For paid work that may have been done although nobody saw its end. */
export const outcomeUnknown = (cause?: unknown): GatewayError =>
  new GatewayError('outcome_unknown', {
    message:
      'The work was interrupted after it may have begun, so it was not repeated and may have been billed. ' +
      'Send the request again if you still want it.',
    retry: false,
    cause,
  });

const AWAY_RETRY_AFTER_SECONDS = 5;

/** For a job whose output could not be written to Redis. Paid work has begun by then and must not be repeated. */
export const outputLost = (work: 'free' | 'paid', cause: unknown): GatewayError =>
  new GatewayError('service_unavailable', {
    message: 'The output of the job could not be stored.',
    ...(work === 'free' ? { retryAfterSeconds: AWAY_RETRY_AFTER_SECONDS } : { retry: false }),
    cause,
  });

/** For a caller who reads more slowly than a job emits, by more than is kept. */
export const textsLost = (): GatewayError =>
  new GatewayError('internal', {
    message: 'The events were read too slowly to be kept. The job continues; fetch its result.',
    retry: false,
  });

/** Anything thrown while a job ran, as an error that its caller may see. */
export const toJobError = (error: unknown): GatewayError =>
  error instanceof GatewayError
    ? error
    : new GatewayError('internal', {
        message: 'The gateway had an internal error. Report the request id if it happens again.',
        retry: false,
        cause: error,
      });
