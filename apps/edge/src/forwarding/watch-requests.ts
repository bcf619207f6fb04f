import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Endpoint, mayWaitForJob, type ServiceName } from '@gateway/contracts/endpoints/endpoints';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { JOB_REPLY_TIMEOUT_MS } from '@gateway/contracts/time-limits';
import { createUnderway, type Underway } from '@gateway/service-kit/request/underway';
import type { EdgeContext } from '../request/edge-context.ts';
import { type BodyLimits, followBody } from './body-pace.ts';
import { bodyTooSlow, serviceTooSlow, shuttingDown } from './service-errors.ts';

export type ForwardedEndpoint = Endpoint<ServiceName>;

export const isForwarded = (endpoint: Endpoint): endpoint is ForwardedEndpoint => endpoint.service !== 'edge';

/** The watched state of a request to a service. */
export interface Watched {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly context: EdgeContext;
  readonly endpoint: ForwardedEndpoint;
  /** When the service had the whole request, by the last check. */
  waitingSinceMs: number;
  /** Follows the body from the first check at which it was not complete. */
  followBody: ReturnType<typeof followBody> | undefined;
  /** Follows the reply from the first check at which the caller had not taken all of it. */
  followReply: ReturnType<typeof followBody> | undefined;
  /** Set by the list of requests in flight. */
  index: number;
}

export interface WatchLimits {
  /** How long a service may take from the end of a request until the first byte of its reply. */
  readonly timeoutMs: number;
  readonly body: BodyLimits;
  readonly reply: BodyLimits;
  readonly deadline: AbortSignal;
}

interface WatchOptions<Request extends Watched> extends WatchLimits {
  /** Whether the service's reply has begun: the watch ends then. */
  readonly isReplied: (watched: Request) => boolean;
  /** Whether the edge has paused reading the body, because the service takes no more. */
  readonly isHeld: (watched: Request) => boolean;
  /** Answers instead of the service. */
  readonly fail: (watched: Request, error: GatewayError) => void;
}

export interface WatchedRequests<Request extends Watched>
  extends Pick<Underway<Request>, 'add' | 'remove' | 'has' | 'size'> {
  /** Fails the request in flight on a connection, for errors that only the connection reports; false: it has no request. */
  failOn(socket: unknown, error: GatewayError): boolean;
  close(): void;
}

/**
 * The bytes that the system has taken of what was written to a connection. Only the connection's handle knows how much of a large
 * write is left; Node itself reads it before it ends a connection for its silence (`Socket.setTimeout`).
 */
function takenBytes(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, '_handle');
  if (typeof handle !== 'object' || handle === null) return socket.bytesWritten - socket.writableLength;
  const written: unknown = Reflect.get(handle, 'bytesWritten');
  const queued: unknown = Reflect.get(handle, 'writeQueueSize');
  return typeof written === 'number' && typeof queued === 'number'
    ? written - queued
    : socket.bytesWritten - socket.writableLength;
}

/** The interval of the check for slow services and bodies, one for all requests: a timer each would slow every fast one. */
const MAX_CHECK_INTERVAL_MS = 1000;

/** The requests in flight. Each fails when its service or its body is too slow, or when the drain deadline passes before its reply. */
export function watchRequests<Request extends Watched>({
  timeoutMs,
  body,
  reply,
  deadline,
  isReplied,
  isHeld,
  fail,
}: WatchOptions<Request>): WatchedRequests<Request> {
  const underway = createUnderway<Request>();

  const slownessOf = (watched: Request, nowMs: number): GatewayError | undefined => {
    const { request, endpoint } = watched;
    if (request.complete) {
      const limitMs = mayWaitForJob(endpoint) ? Math.max(timeoutMs, JOB_REPLY_TIMEOUT_MS) : timeoutMs;
      return nowMs - watched.waitingSinceMs >= limitMs ? serviceTooSlow(limitMs) : undefined;
    }
    watched.waitingSinceMs = nowMs;
    // The connection counts its bytes anyway. Reading from it stops while the service takes no more.
    const reading = { nowMs, bytes: request.socket.bytesRead, held: isHeld(watched) };
    watched.followBody ??= followBody(reading, body);
    const slowness = watched.followBody(reading);
    return slowness && bodyTooSlow(slowness, body);
  };
  /** A caller who does not read holds the reply, and with it the service and its provider. */
  const endSlowReader = (watched: Request, nowMs: number): void => {
    const { response, context } = watched;
    const { socket } = response;
    if (socket === null) return;
    const reading = { nowMs, bytes: takenBytes(socket), held: socket.writableLength === 0 };
    if (reading.held && watched.followReply === undefined) return;
    watched.followReply ??= followBody(reading, reply);
    const slowness = watched.followReply(reading);
    if (slowness === undefined) return;
    context.line.slowReader = slowness;
    response.destroy();
  };
  const failAll = (errorOf: (watched: Request) => GatewayError | undefined) => {
    for (const watched of underway.all()) {
      const error = isReplied(watched) ? undefined : errorOf(watched);
      if (error !== undefined) fail(watched, error);
    }
  };
  const onDeadline = () => failAll(shuttingDown);
  deadline.addEventListener('abort', onDeadline, { once: true });
  const check = setInterval(
    () => {
      const nowMs = performance.now();
      failAll((watched) => slownessOf(watched, nowMs));
      for (const watched of underway.all()) if (isReplied(watched)) endSlowReader(watched, nowMs);
    },
    Math.min(timeoutMs, body.idleMs, reply.idleMs, MAX_CHECK_INTERVAL_MS),
  );

  return {
    add: underway.add,
    remove: underway.remove,
    has: underway.has,
    get size() {
      return underway.size;
    },
    failOn: (socket, error) => {
      const found = underway.all().find(({ request }) => request.socket === socket);
      if (found !== undefined) fail(found, error);
      return found !== undefined;
    },
    close: () => {
      clearInterval(check);
      deadline.removeEventListener('abort', onDeadline);
    },
  };
}
