import { GatewayError } from '@gateway/contracts/gateway-error';

/** What callers are told whose request the drain deadline ends. */
export const shuttingDown = (): GatewayError =>
  new GatewayError('shutting_down', {
    message: 'The gateway is shutting down. Please try again.',
    retryAfterSeconds: 1,
  });
