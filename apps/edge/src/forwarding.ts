import type { ServerResponse } from 'node:http';
import type { Endpoint, ServiceName } from '@gateway/contracts/endpoints';
import type { CallerBody } from './caller-body.ts';
import type { EdgeContext } from './edge-context.ts';
import type { ServiceExchange } from './service-exchange.ts';
import type { ServiceAddress } from './service-pool.ts';
import type { Watched } from './watch-requests.ts';

export type ForwardedEndpoint = Endpoint<ServiceName>;

export const isForwarded = (endpoint: Endpoint): endpoint is ForwardedEndpoint => endpoint.service !== 'edge';

/** One request that the edge forwards. */
export interface Forwarding extends Watched {
  readonly response: ServerResponse;
  readonly context: EdgeContext;
  readonly body: CallerBody;
  /** The addresses tried so far; the last one is the current one. */
  readonly tried: ServiceAddress[];
  /** Set when a connection to the service is established. */
  serviceRequest: ServiceExchange | undefined;
  /** How often it was sent again to the same address. */
  repeats: number;
  /** The service's reply has begun. */
  replied: boolean;
  /** The edge has answered instead, or aborted the reply. */
  failed: boolean;
}

/** The property of a request with its forwarding state. */
export const forwardingOf: unique symbol = Symbol('forwarding');
declare module 'node:http' {
  interface IncomingMessage {
    [forwardingOf]?: Forwarding;
  }
}

/** Work that a second sending does not repeat. */
const SAFE_METHODS = new Set(['GET', 'HEAD']);

/** Each of them may meet one more connection that is about to be closed. */
const MAX_REPEATS = 3;

/**
 * Whether a lost request may be sent again unnoticed: it was sent on a kept connection, which the service may have closed
 * in the same moment, and it only reads (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
 */
export const mayRepeat = ({ request, serviceRequest, repeats }: Forwarding): boolean =>
  serviceRequest?.reusedConnection === true &&
  SAFE_METHODS.has(request.method ?? '') &&
  request.headers['content-length'] === undefined &&
  request.headers['transfer-encoding'] === undefined &&
  repeats < MAX_REPEATS;
