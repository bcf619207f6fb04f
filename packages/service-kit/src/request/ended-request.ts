import { GatewayError } from '@gateway/contracts/gateway-error';
import { CallerLeft, type RequestContext } from './request-context.ts';

/** Why a request's signal fired, as its error: the caller left, or this process has waited long enough to stop. */
export function endedRequest({ signal }: Pick<RequestContext, 'signal'>): GatewayError | undefined {
  if (!signal.aborted) return undefined;
  return signal.reason instanceof CallerLeft
    ? new GatewayError('client_closed_request', 'The caller left before the reply was complete.')
    : new GatewayError('shutting_down', {
        message: 'The gateway is shutting down. Please try again.',
        retryAfterSeconds: 1,
      });
}
