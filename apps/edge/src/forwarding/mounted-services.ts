import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServiceName } from '@gateway/contracts/endpoints/endpoints';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { writeError } from '@gateway/service-kit/error-response';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import { leaveRequest } from '@gateway/service-kit/request/request-context';
import type { Dispatch } from '@gateway/service-kit/service-app';
import type { Forwarder } from './forwarder.ts';
import { type Watched, type WatchLimits, watchRequests } from './watch-requests.ts';

/** One request that a service in this process answers. */
interface Mounted extends Watched {
  /** Why the edge has answered instead of the service, or aborted its reply. */
  failure: GatewayError | undefined;
}

/** A response has the edge's and its service's listeners; by default Node warns at the eleventh. */
const MAX_LISTENERS = 30;

/**
 * Passes requests to services in the same process. Callers notice no difference from services over HTTP: the same
 * headers, the same time limits, the same errors.
 */
export function createMountedForwarder(
  services: Readonly<Record<ServiceName, Dispatch>>,
  limits: WatchLimits,
): Forwarder {
  const fail = (mounted: Mounted, error: GatewayError): void => {
    if (mounted.failure !== undefined) return;
    mounted.failure = error;
    const { request, response, context } = mounted;
    writeError(response, error, context);
    takeFromHandler(request, response, error);
    if (!request.complete) discardRest(request);
  };
  const watched = watchRequests<Mounted>({
    ...limits,
    isReplied: ({ response }) => response.headersSent,
    isHeld: ({ request }) => request.readableFlowing !== true,
    fail,
  });

  return {
    forward: (request, response, context, endpoint) => {
      const { requestId } = context;
      response.setMaxListeners(MAX_LISTENERS);
      response.setHeader('x-request-id', requestId);
      response.setHeader('request-id', requestId);
      const mounted: Mounted = {
        request,
        response,
        context,
        endpoint,
        waitingSinceMs: performance.now(),
        followBody: undefined,
        followReply: undefined,
        index: -1,
        failure: undefined,
      };
      watched.add(mounted);
      // Before the edge's own listener, which writes the request's line.
      response.prependOnceListener('close', () => {
        watched.remove(mounted);
        // The service, whose context it is too, has failed since then because it was left.
        if (mounted.failure !== undefined) context.failure = mounted.failure;
      });
      // A service may refuse an upload before it has read it.
      response.once('finish', () => {
        if (!request.complete) discardRest(request);
      });
      services[endpoint.service](endpoint, request, response);
    },
    get inFlight() {
      return watched.size;
    },
    failOn: watched.failOn,
    close: watched.close,
  };
}

/** The request is answered: its handler's reads fail, and for it the caller has left. */
function takeFromHandler(request: IncomingMessage, response: ServerResponse, error: GatewayError): void {
  // What the handler may still write goes nowhere.
  response.on('error', () => undefined);
  leaveRequest(request);
  if (request.complete || request.listenerCount('error') === 0) return;
  request.emit('error', error);
  request.unpipe();
  request.removeAllListeners('data');
}
