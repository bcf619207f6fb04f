import type { Endpoint } from '@gateway/contracts/endpoints/endpoints';
import type { ServiceAddress } from '../services/service-pool.ts';
import type { CallerBody } from './caller-body.ts';
import type { ForwardedEndpoint, Watched } from './watch-requests.ts';

export const isForwarded = (endpoint: Endpoint): endpoint is ForwardedEndpoint => endpoint.service !== 'edge';

/** The current sending of a request to its service. */
interface ServiceRequest {
  /** Whether its connection carried another request before this one. */
  readonly reusedConnection: boolean;
  destroy(): void;
}

/** One request that the edge forwards. */
export interface Forwarding extends Watched {
  readonly body: CallerBody;
  /** The addresses tried so far; the last one is the current one. */
  readonly tried: ServiceAddress[];
  /** Set when a connection to the service is established. */
  serviceRequest: ServiceRequest | undefined;
  /** How often it was sent again to the same address. */
  repeats: number;
  /** It was sent to another address after its service was lost. */
  movedOn: boolean;
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

/**
 * New text requests, which clients repeat by themselves after their service was lost (`x-should-retry`), while nothing was
 * sent. Requests that are billed by the piece are not here, nor requests that change something stored.
 */
const REPEATED_PATHS = new Set([
  '/v1/responses',
  '/v1/responses/input_tokens',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/chat/completions',
]);

/** Whether a request may be sent to another address of a service that was lost before its reply began. */
export const mayMoveOn = ({ method, path }: Endpoint): boolean =>
  SAFE_METHODS.has(method) || (method === 'POST' && REPEATED_PATHS.has(path));

/** Each repeat may meet one more connection that the service is closing. */
const MAX_REPEATS = 3;

/**
 * Whether a lost request may be sent again to the same service. It only reads, and it was sent on a kept connection, which
 * the service may have closed in the same moment (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
 */
export const mayRepeat = ({ request, serviceRequest, repeats }: Forwarding): boolean =>
  serviceRequest?.reusedConnection === true &&
  SAFE_METHODS.has(request.method ?? '') &&
  request.headers['content-length'] === undefined &&
  request.headers['transfer-encoding'] === undefined &&
  repeats < MAX_REPEATS;
