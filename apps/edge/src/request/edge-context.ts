import type { IncomingMessage, ServerResponse } from 'node:http';
import { createContext, findContext, type OpenedContext } from '@gateway/service-kit/request/request-context';
import { requestIdOf } from '@gateway/service-kit/request/request-id';
import { type RequestLog, UNKNOWN_PATH } from '@gateway/service-kit/request/request-log';
import type { Tracing } from '@gateway/service-kit/tracing/tracing';

/** The edge's context of a request. A service in the same process takes it. */
export interface EdgeContext extends OpenedContext {
  /** The service was lost with the request: nobody there frees what it holds. */
  serviceLost?: boolean;
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
  tracing,
}: {
  requestLog: RequestLog;
  deadline: AbortSignal;
  tracing: Tracing | undefined;
}): EdgeContexts {
  const open: EdgeContexts['open'] = (request, response, endpoint) => {
    const requestId = requestIdOf(request.headers['x-request-id']);
    // The proxy handles a caller who leaves, so only the deadline is signalled here.
    const trace = tracing?.fromCaller(request.headers);
    const context = createContext(request, { requestId, identity: null, deadline, trace });
    requestLog.observe(request, response, context, endpoint);
    return context;
  };
  return {
    open,
    of: (request, response) => findContext(request) ?? open(request, response, UNKNOWN_PATH),
  };
}
