import { GatewayError } from '@gateway/contracts/gateway-error';
import type { CloseReason } from './realtime-metrics.ts';

/** Why the gateway ends a session that has begun. */
export type EndReason = Exclude<CloseReason, 'lost' | 'caller' | 'refused' | 'opening'>;

/** How a WebSocket is closed. A reason has at most 123 bytes. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

/** RFC 6455 §7.4.1 and IANA's registry. Clients that reconnect by themselves do so after 1001 and 1012. */
export const CLOSINGS: Readonly<Record<EndReason, Closing>> = {
  idle: { code: 1001, reason: 'The session was idle for too long. Open another one.' },
  age: { code: 1001, reason: 'The session has reached its maximum age. Open another one.' },
  upstream: { code: 1011, reason: 'The upstream broke off. Open another session.' },
  key: { code: 1008, reason: 'The key may no longer have this session.' },
  budget: { code: 1008, reason: 'The budget does not cover another response.' },
  flood: { code: 1008, reason: 'The session sends more than the gateway can hold. Send less at a time.' },
  silent: { code: 1008, reason: 'Nothing came in answer to pings. Open another session.' },
  slow: { code: 1008, reason: 'Nothing was read for too long. Open another session.' },
  restart: { code: 1012, reason: 'The gateway is restarting. Open another session.' },
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
export function providerClosed(code: number): { readonly error: GatewayError; readonly closing: Closing } {
  const isFailure = !NORMAL_CLOSE.has(code);
  const error = new GatewayError(isFailure ? 'upstream_failed' : 'websocket_connection_limit_reached', {
    message: isFailure
      ? 'The connection to the upstream broke. Open another session.'
      : 'The upstream has ended this session. Open another one.',
    source: 'upstream',
  });
  const ended = { code: CLOSINGS.age.code, reason: 'The upstream has ended this session. Open another one.' };
  return { error, closing: isFailure ? CLOSINGS.upstream : ended };
}

/** What a caller is told of a provider that sends nothing more of a response. */
export const providerSilent = (): GatewayError =>
  new GatewayError('upstream_timeout', {
    message: 'The upstream fell silent in the middle of a response. Open another session.',
    source: 'upstream',
  });
