import type { IncomingMessage, ServerResponse } from 'node:http';
import { dialectOf } from '@gateway/contracts/endpoints/endpoints';
import type { Dialect, GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { LogFields, RequestContext } from '@gateway/service-kit/request/request-context';
import { requestIdOf } from '@gateway/service-kit/request/request-id';
import { type RequestLog, UNKNOWN_PATH } from '@gateway/service-kit/request/request-log';

/** The edge's context of a request. Unlike a service's context, it gets the identity only during the request. */
export interface EdgeContext extends RequestContext {
  readonly requestId: string;
  readonly dialect: Dialect;
  identity: Identity | null;
  /** The service was lost with the request: nobody there frees what it holds. */
  serviceLost?: boolean;
  readonly line: LogFields;
  failure: GatewayError | undefined;
}

/** The property of a request with its context: faster, also for the garbage collector, than a `WeakMap`. */
const contextOfRequest: unique symbol = Symbol('edge context');
declare module 'node:http' {
  interface IncomingMessage {
    [contextOfRequest]?: EdgeContext;
  }
}

export interface EdgeContexts {
  /** Gives the request its id and its line in the log. `endpoint` is its path's name in log and metrics. */
  open(request: IncomingMessage, response: ServerResponse, endpoint: string): EdgeContext;
  /** The request's context, opened as an unknown path's if it has none. */
  of(request: IncomingMessage, response: ServerResponse): EdgeContext;
}

export function createEdgeContexts({
  requestLog,
  deadline,
}: {
  requestLog: RequestLog;
  deadline: AbortSignal;
}): EdgeContexts {
  const open: EdgeContexts['open'] = (request, response, endpoint) => {
    const context: EdgeContext = {
      requestId: requestIdOf(request.headers['x-request-id']),
      dialect: dialectOf(request.url ?? '/'),
      identity: null,
      // The proxy handles a caller who leaves, so only the deadline is signalled here.
      signal: deadline,
      line: {},
      failure: undefined,
    };
    request[contextOfRequest] = context;
    requestLog.observe(request, response, context, endpoint);
    return context;
  };
  return {
    open,
    of: (request, response) => request[contextOfRequest] ?? open(request, response, UNKNOWN_PATH),
  };
}
