import type { IncomingMessage, ServerResponse } from 'node:http';
import { dialectOf } from '@gateway/contracts/endpoints';
import type { Dialect, GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { createUnderway, type Underway } from './underway.ts';

/** Fields that a handler adds to the request's one log line. Flat, and never a body, a prompt or a key. */
export type LogFields = Record<string, string | number | boolean | null | undefined>;

/** What every handler knows of the request at hand. */
export interface RequestContext {
  readonly requestId: string;
  readonly dialect: Dialect;
  /** Who is calling; null only on public paths. */
  readonly identity: Identity | null;
  /** Aborted when the caller has left before the reply was complete, or when the drain deadline has passed. */
  readonly signal: AbortSignal;
  readonly line: LogFields;
  /** What ended the request, where something did: set by the error writer, and by a stream that broke after its start. */
  failure: GatewayError | undefined;
  /** A provider may have been asked: an internal error from here on must not have the request sent, and paid, again. */
  mayBePaid?: boolean;
}

/** Where a request keeps its context: nearer, also for the garbage collector, than an entry in a `WeakMap`. */
const contextOfRequest: unique symbol = Symbol('request context');
/** What aborts the context's signal. */
const leavingOfRequest: unique symbol = Symbol('leaving');
declare module 'node:http' {
  interface IncomingMessage {
    [contextOfRequest]?: RequestContext;
    [leavingOfRequest]?: AbortController;
  }
}

interface OpenOptions {
  readonly requestId: string;
  readonly identity: Identity | null;
  readonly deadline: AbortSignal;
}

export function openContext(
  request: IncomingMessage,
  response: ServerResponse,
  { requestId, identity, deadline }: OpenOptions,
): RequestContext {
  const leaving = new AbortController();
  const underway = underwayUntil(deadline);
  const open: OpenRequest = { place: -1, leaving };
  underway.add(open);
  response.once('close', () => {
    underway.remove(open);
    if (!response.writableFinished) leaving.abort(new CallerLeft());
  });
  const context: RequestContext = {
    requestId,
    dialect: dialectOf(request.url ?? '/'),
    identity,
    signal: leaving.signal,
    line: {},
    failure: undefined,
  };
  request[contextOfRequest] = context;
  request[leavingOfRequest] = leaving;
  return context;
}

/** Ends a request for its handler as its caller's leaving would: somebody else has answered it. */
export const leaveRequest = (request: IncomingMessage): void =>
  request[leavingOfRequest]?.abort(new CallerLeft());

interface OpenRequest {
  place: number;
  readonly leaving: AbortController;
}

/** The open requests that end at a deadline. */
const openRequests = new WeakMap<AbortSignal, Underway<OpenRequest>>();

/** One listener for all requests: to remove one of its own, a signal looks through those of all others. */
function underwayUntil(deadline: AbortSignal): Underway<OpenRequest> {
  const known = openRequests.get(deadline);
  if (known !== undefined) return known;
  const underway = createUnderway<OpenRequest>();
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

/** The request's context, if it has been opened: what fails before that has none. */
export const findContext = (request: IncomingMessage): RequestContext | undefined =>
  request[contextOfRequest];

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
