import type { IncomingMessage, ServerResponse } from 'node:http';
import { dialectOf } from '@gateway/contracts/endpoints/endpoints';
import { type Dialect, GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import type { RequestLoad } from '../load/load-guard.ts';
import { createUnderway, type Underway } from './underway.ts';

/** Fields that a handler adds to the request's one log line. Flat, and never a body, a prompt or a key. */
export type LogFields = Record<string, string | number | boolean | null | undefined>;

/** The context of a request, for its handler. */
export interface RequestContext {
  readonly requestId: string;
  readonly dialect: Dialect;
  /** Who is calling; null only on public paths. */
  readonly identity: Identity | null;
  /** Aborted when the caller has left before the reply was complete, or when the drain deadline has passed. */
  readonly signal: AbortSignal;
  readonly line: LogFields;
  /** The error that ended the request, if any: set by the error writer, and by a stream that broke after its start. */
  failure: GatewayError | undefined;
  /** Whether its connection carries a WebSocket now. Then it is not answered over HTTP. */
  upgraded?: boolean;
  /** A provider may have got the request: after an internal error from here on, clients must not send and pay it again. */
  mayBePaid?: boolean;
  /** The request's share of its service's load. Absent if nothing is counted. */
  readonly load?: RequestLoad;
  /** Undefined where no traces are exported. */
  readonly trace?: RequestTrace | undefined;
}

/**
 * A context while it is filled: the edge learns from the key who is calling, and the service that takes the request adds its
 * signal and its load. In one process both have the same.
 */
export interface OpenedContext extends RequestContext {
  identity: Identity | null;
  signal: AbortSignal;
  load?: RequestLoad;
}

/** The property of a request with its context: faster, also for the garbage collector, than a `WeakMap`. */
const contextOfRequest: unique symbol = Symbol('request context');
/** The controller of the context's signal. */
const leavingOfRequest: unique symbol = Symbol('leaving');
declare module 'node:http' {
  interface IncomingMessage {
    [contextOfRequest]?: OpenedContext;
    [leavingOfRequest]?: AbortController;
  }
}

interface CreateOptions {
  readonly requestId: string;
  readonly identity: Identity | null;
  readonly deadline: AbortSignal;
  readonly trace?: RequestTrace | undefined;
}

interface TakeOptions {
  readonly deadline: AbortSignal;
  /** Ends with the request. */
  readonly load?: RequestLoad;
}

/** @param path decides the dialect */
const newContext = (
  path: string,
  { requestId, identity, deadline, trace }: CreateOptions,
): OpenedContext => ({
  requestId,
  dialect: dialectOf(path),
  identity,
  signal: deadline,
  line: {},
  failure: undefined,
  trace,
});

/** A request under way, whatever carries it. */
export interface OpenRequest {
  readonly context: OpenedContext;
  readonly leaving: AbortController;
  /** Call it when the answer is over. */
  close(isAnswered: boolean): void;
}

/** From now on the context's signal fires where the caller leaves, too. */
function take(context: OpenedContext, { deadline, load }: TakeOptions): OpenRequest {
  const leaving = new AbortController();
  const underway = underwayUntil(deadline);
  const listed = { index: -1, leaving };
  underway.add(listed);
  context.signal = leaving.signal;
  if (load !== undefined) context.load = load;
  const close = (isAnswered: boolean) => {
    underway.remove(listed);
    load?.end();
    if (!isAnswered) leaving.abort(new CallerLeft());
  };
  return { context, leaving, close };
}

export const openRequest = (path: string, options: CreateOptions & TakeOptions): OpenRequest =>
  take(newContext(path, options), options);

/** Gives a request over HTTP its context, by which it is found. Until a service takes the request, its signal is the deadline alone. */
export function createContext(request: IncomingMessage, options: CreateOptions): OpenedContext {
  const context = newContext(request.url ?? '/', options);
  request[contextOfRequest] = context;
  return context;
}

/** A service takes a request that has a context. */
export function takeRequest(
  request: IncomingMessage,
  response: ServerResponse,
  options: TakeOptions,
): RequestContext {
  const context = request[contextOfRequest];
  if (context === undefined) throw new Error('request has no context: nobody let it in');
  return closing(request, response, take(context, options));
}

/** Gives a request over HTTP its context, and takes it. */
export function openContext(
  request: IncomingMessage,
  response: ServerResponse,
  options: CreateOptions & TakeOptions,
): RequestContext {
  const open = openRequest(request.url ?? '/', options);
  request[contextOfRequest] = open.context;
  return closing(request, response, open);
}

function closing(request: IncomingMessage, response: ServerResponse, open: OpenRequest): RequestContext {
  // Before the listener that writes the request's line.
  response.prependOnceListener('close', () => open.close(response.writableFinished));
  request[leavingOfRequest] = open.leaving;
  return open.context;
}

/** Aborts a request's handler as if its caller had left: the request has been answered elsewhere. */
export const leaveRequest = (request: IncomingMessage): void =>
  request[leavingOfRequest]?.abort(new CallerLeft());

interface Listed {
  index: number;
  readonly leaving: AbortController;
}

/** The open requests that end at a deadline. */
const openRequests = new WeakMap<AbortSignal, Underway<Listed>>();

/** One listener for all requests: a signal removes a listener by searching all of them. */
function underwayUntil(deadline: AbortSignal): Underway<Listed> {
  const known = openRequests.get(deadline);
  if (known !== undefined) return known;
  const underway = createUnderway<Listed>();
  openRequests.set(deadline, underway);
  const end = () => {
    for (const { leaving } of underway.all()) leaving.abort(deadline.reason);
  };
  deadline.addEventListener('abort', end, { once: true });
  return underway;
}

/** The reason of `RequestContext.signal` when the caller went away. */
export class CallerLeft extends Error {
  override readonly name = 'CallerLeft';
  constructor() {
    super('The caller left before the reply was complete.');
  }
}

/** The request's context; undefined for a request that failed before it was opened. */
export const findContext = (request: IncomingMessage): OpenedContext | undefined => request[contextOfRequest];

/** The context of a request that came in through a service's app. */
export function contextOf(request: IncomingMessage): RequestContext {
  const context = findContext(request);
  if (context === undefined)
    throw new Error('request has no context: it did not come through the service app');
  return context;
}

/** The caller's identity, on paths that need a key. */
export function identityOf(request: IncomingMessage): Identity {
  const { identity } = contextOf(request);
  if (identity === null) throw new Error('a public path has no identity');
  return identity;
}

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
