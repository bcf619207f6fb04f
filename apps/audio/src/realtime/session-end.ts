import { GatewayError } from '@gateway/contracts/gateway-error';
import type { CloseReason } from './realtime-metrics.ts';

/** Why the gateway ends a session that has begun. */
export type EndReason = Exclude<CloseReason, 'lost' | 'caller' | 'refused' | 'opening'>;

/** RFC 6455 §7.4.1 and IANA's registry. Clients that reconnect by themselves do so after 1001 and 1012. */
export const CLOSE_CODES: Readonly<Record<EndReason, number>> = {
  idle: 1001,
  age: 1001,
  upstream: 1011,
  key: 1008,
  budget: 1008,
  flood: 1008,
  silent: 1008,
  slow: 1008,
  restart: 1012,
};

/** After these errors the key gets no further response in this session. */
export const ENDING: Readonly<Partial<Record<GatewayError['code'], EndReason>>> = {
  budget_exhausted: 'budget',
  unpriced_model: 'budget',
  invalid_key: 'key',
  endpoint_not_allowed: 'key',
};

export const cancelEvent = (id: string): string =>
  JSON.stringify({ type: 'response.cancel', response_id: id });

export const shuttingDown = (): GatewayError =>
  new GatewayError('shutting_down', {
    message:
      'The gateway is shutting down: this session ends after the response under way. Open another session.',
    retryAfterSeconds: 1,
  });

/** How a provider closes a session that has reached its end. */
const NORMAL_CLOSE: ReadonlySet<number> = new Set([1000, 1001]);

/** What a caller is told of a session that its provider has closed, and how its own is closed. */
export function providerClosed(code: number): { readonly error: GatewayError; readonly closeCode: number } {
  const isFailure = !NORMAL_CLOSE.has(code);
  const error = new GatewayError(isFailure ? 'upstream_failed' : 'websocket_connection_limit_reached', {
    message: isFailure
      ? 'The connection to the upstream broke. Open another session.'
      : 'The upstream has ended this session. Open another one.',
    source: 'upstream',
  });
  return { error, closeCode: isFailure ? CLOSE_CODES.upstream : CLOSE_CODES.age };
}
