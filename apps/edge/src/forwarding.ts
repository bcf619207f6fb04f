import type { ServerResponse } from 'node:http';
import type { Endpoint, ServiceName } from '@gateway/contracts/endpoints';
import type { CallerBody } from './caller-body.ts';
import type { EdgeContext } from './edge-context.ts';
import type { ServiceExchange } from './service-exchange.ts';
import type { ServiceAddress } from './service-pool.ts';
import type { Watched } from './watch-requests.ts';

export type ForwardedEndpoint = Endpoint<ServiceName>;

export const isForwarded = (endpoint: Endpoint): endpoint is ForwardedEndpoint => endpoint.service !== 'edge';

/** One request on its way through the edge. */
export interface Forwarding extends Watched {
  readonly response: ServerResponse;
  readonly context: EdgeContext;
  readonly body: CallerBody;
  /** The addresses asked so far; the last one is the current one. */
  readonly tried: ServiceAddress[];
  /** Known from the moment that a connection to the service is established. */
  serviceRequest: ServiceExchange | undefined;
  /** How often it was sent again to the same address. */
  repeats: number;
  /** The service's reply has begun. */
  replied: boolean;
  /** We have answered instead, or broken the reply off. */
  failed: boolean;
}

/** Where a request keeps what is known of its way. */
export const forwardingOf: unique symbol = Symbol('forwarding');
declare module 'node:http' {
  interface IncomingMessage {
    [forwardingOf]?: Forwarding;
  }
}

/** What a second sending does not do twice. */
const SAFE_METHODS = new Set(['GET', 'HEAD']);

/** Each of them may meet one more connection that is about to be closed. */
const MAX_REPEATS = 3;

/**
 * Whether a lost request may be sent again without anybody noticing: it went over a kept connection, which the service
 * may have closed in the same moment, and asks only for something to be read (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
 */
export const mayRepeat = ({ request, serviceRequest, repeats }: Forwarding): boolean =>
  serviceRequest?.reusedConnection === true &&
  SAFE_METHODS.has(request.method ?? '') &&
  request.headers['content-length'] === undefined &&
  request.headers['transfer-encoding'] === undefined &&
  repeats < MAX_REPEATS;
