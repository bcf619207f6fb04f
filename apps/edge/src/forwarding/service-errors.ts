import type { IncomingMessage } from 'node:http';
import type { Endpoint } from '@gateway/contracts/endpoints/endpoints';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { BodyLimits, Slowness } from './body-pace.ts';

const RETRY_AFTER_SECONDS = 1;

/** No address of the service took the request; it was not sent. */
export const serviceDown = (cause?: unknown): GatewayError =>
  new GatewayError('service_unavailable', {
    message: 'The gateway cannot serve this endpoint at the moment. Please try again shortly.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });

/** Calls that cost money once they have begun, so clients must not repeat them blindly. */
const PAID = new Set<Endpoint['scope']>(['images', 'speech']);

/** The service took the request and was gone before it answered. */
export function serviceLost(
  { method, scope }: Endpoint,
  { headers }: Pick<IncomingMessage, 'headers'>,
  cause: unknown,
): GatewayError {
  // Sent again with its key, the request joins its job: it is not done twice.
  const joins = headers['idempotency-key'] !== undefined && method === 'POST';
  return joins || method !== 'POST' || !PAID.has(scope) ? lost(cause) : mayBeDone(cause);
}

const mayBeDone = (cause: unknown): GatewayError =>
  new GatewayError('outcome_unknown', {
    message:
      'The gateway lost the service that was working on this request. It may have been done and billed; it was not repeated.',
    cause,
  });

const lost = (cause: unknown): GatewayError =>
  new GatewayError('service_unavailable', {
    message: 'The gateway lost the service that was answering. Please try again.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });

/** For the log alone: the reply had begun, and is aborted. */
export const serviceBrokeOff = (cause: unknown): GatewayError =>
  new GatewayError('service_unavailable', {
    message: 'The service ended in the middle of its reply.',
    cause,
  });

/** The service ended in the middle of a WebSocket that it had taken. */
export const socketLost = (): GatewayError =>
  new GatewayError('service_unavailable', {
    message:
      'The connection broke inside the gateway. Open another one and continue there: a response that was under way may have been billed.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

export const serviceTooSlow = (timeoutMs: number): GatewayError =>
  new GatewayError(
    'service_timeout',
    `The gateway's service did not begin to answer within ${timeoutMs} ms.`,
  );

const SLOW_BODY: Readonly<Record<Slowness, (limits: BodyLimits) => string>> = {
  idle: ({ idleMs }) => `Nothing of the request body arrived for ${idleMs} ms.`,
  slow: ({ minBytesPerSecond }) =>
    `The request body arrived with less than ${minBytesPerSecond} bytes per second.`,
};

export const bodyTooSlow = (slowness: Slowness, limits: BodyLimits): GatewayError =>
  new GatewayError('request_timeout', `${SLOW_BODY[slowness](limits)} Send it again on a faster connection.`);

export const shuttingDown = (): GatewayError =>
  new GatewayError('shutting_down', {
    message: 'The gateway is shutting down. Please try again shortly.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
