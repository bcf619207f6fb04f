import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServiceName } from '@gateway/contracts/endpoints';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { discardRest } from '@gateway/service-kit/discard-rest';
import { writeError } from '@gateway/service-kit/write-error';
import { createProxyMiddleware, proxyEventsPlugin } from 'http-proxy-middleware';
import { CallerBody } from './caller-body.ts';
import type { EdgeContext } from './edge-context.ts';
import { type ForwardedEndpoint, type Forwarding, forwardingOf, mayRepeat } from './forwarding.ts';
import { createServiceConnections } from './service-connections.ts';
import { serviceBrokeOff, serviceDown, serviceLost } from './service-errors.ts';
import { sendByUndici } from './service-exchange.ts';
import type { ServicePool } from './service-pool.ts';
import { type WatchLimits, watchRequests } from './watch-requests.ts';

export interface Forwarder {
  /** Forwards a request whose headers are already those for the service, and handles every failure. */
  forward(
    request: IncomingMessage,
    response: ServerResponse,
    context: EdgeContext,
    endpoint: ForwardedEndpoint,
  ): void;
  /** Fails the request in flight on a connection, for errors that only the connection reports; false if there is none. */
  failOn(socket: unknown, error: GatewayError): boolean;
  close(): void;
}

/** Sends requests to services in other processes, over HTTP. */
export function createForwarder(
  pools: Readonly<Record<ServiceName, ServicePool>>,
  limits: WatchLimits,
): Forwarder {
  const connections = createServiceConnections();

  const fail = (forwarding: Forwarding, error: GatewayError): void => {
    if (forwarding.failed) return;
    forwarding.failed = true;
    const { request, response, serviceRequest, context } = forwarding;
    writeError(response, error, context);
    forwarding.body.stop();
    serviceRequest?.destroy();
    if (!request.complete) discardRest(request);
  };
  const underway = watchRequests<Forwarding>({
    ...limits,
    isReplied: ({ replied }) => replied,
    isHeld: ({ body, serviceRequest }) => serviceRequest === undefined || body.held,
    fail,
  });

  const send = (forwarding: Forwarding) => {
    forwarding.serviceRequest = undefined;
    void proxy(forwarding.request, forwarding.response);
  };

  const sendToNext = (forwarding: Forwarding, cause?: unknown) => {
    const address = pools[forwarding.endpoint.service].pick(forwarding.tried);
    if (address === undefined) return fail(forwarding, serviceDown(cause));
    address.inFlight += 1;
    forwarding.tried.push(address);
    send(forwarding);
  };

  const onError = (error: Error, request: IncomingMessage) => {
    const forwarding = request[forwardingOf];
    if (forwarding === undefined || forwarding.failed || !underway.has(forwarding)) return;
    // The caller has left; the end of its response follows.
    if (request.socket.destroyed) return;
    if (forwarding.replied) return fail(forwarding, serviceBrokeOff(error));
    if (forwarding.serviceRequest === undefined) {
      const address = forwarding.tried.at(-1);
      if (address !== undefined) pools[forwarding.endpoint.service].refused(address);
      return sendToNext(forwarding, error);
    }
    if (!mayRepeat(forwarding)) return fail(forwarding, serviceLost(forwarding.endpoint, request, error));
    forwarding.repeats += 1;
    send(forwarding);
  };

  const proxy = createProxyMiddleware({
    router: (request) => {
      const address = request[forwardingOf]?.tried.at(-1);
      if (address === undefined) throw new Error('a request without an address');
      return { protocol: 'http:', host: address.host, port: address.port };
    },
    // Only the proxy's plugin for `on` is used: the others log, and answer in plain text.
    ejectPlugins: true,
    plugins: [proxyEventsPlugin, sendByUndici(connections)],
    on: { error: onError },
  });

  return {
    forward: (request, response, context, endpoint) => {
      const forwarding: Forwarding = {
        request,
        response,
        context,
        endpoint,
        body: new CallerBody(request),
        waitingSinceMs: performance.now(),
        followBody: undefined,
        tried: [],
        index: -1,
        serviceRequest: undefined,
        repeats: 0,
        replied: false,
        failed: false,
      };
      request[forwardingOf] = forwarding;
      underway.add(forwarding);
      response.once('close', () => {
        underway.remove(forwarding);
        for (const address of forwarding.tried) address.inFlight -= 1;
        if (!response.writableFinished) forwarding.serviceRequest?.destroy();
      });
      sendToNext(forwarding);
    },
    failOn: underway.failOn,
    close: () => {
      underway.close();
      connections.close();
    },
  };
}
