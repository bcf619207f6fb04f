import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServiceName } from '@gateway/contracts/endpoints/endpoints';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';
import { writeError } from '@gateway/service-kit/error-response';
import { mayHaveBody } from '@gateway/service-kit/request/check-request';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import { createProxyMiddleware, proxyEventsPlugin } from 'http-proxy-middleware';
import type { EdgeContext } from '../request/edge-context.ts';
import type { ServiceConnections } from '../services/service-connections.ts';
import { isIn, type ServiceAddress, type ServicePool } from '../services/service-pool.ts';
import { CallerBody, KeptBytes } from './caller-body.ts';
import { type Forwarding, forwardingOf, mayMoveOn, mayRepeat } from './forwarding.ts';
import { serviceBrokeOff, serviceDown, serviceLost } from './service-errors.ts';
import { sendByUndici } from './service-exchange.ts';
import { type ForwardedEndpoint, type WatchLimits, watchRequests } from './watch-requests.ts';

export interface Forwarder {
  /** Forwards a request whose headers are already those for the service, and handles every failure. */
  forward(
    request: IncomingMessage,
    response: ServerResponse,
    context: EdgeContext,
    endpoint: ForwardedEndpoint,
  ): void;
  /** Requests in flight. */
  readonly inFlight: number;
  /** Fails the request in flight on a connection, for errors that only the connection reports; false: it has no request. */
  failOn(socket: unknown, error: GatewayError): boolean;
  close(): void;
}

/** Sends requests to services in other processes, over HTTP. */
export function createForwarder(
  pools: Readonly<Record<ServiceName, ServicePool>>,
  connections: ServiceConnections,
  limits: WatchLimits,
): Forwarder {
  const kept = new KeptBytes();

  const fail = (forwarding: Forwarding, error: GatewayError): void => {
    if (forwarding.failed) return;
    forwarding.failed = true;
    const { request, response, serviceRequest, context } = forwarding;
    writeError(response, error, context);
    forwarding.body.stop();
    serviceRequest?.destroy();
    if (!request.complete) discardRest(request);
  };
  const failLost = (forwarding: Forwarding, error: GatewayError): void => {
    forwarding.context.serviceLost = true;
    fail(forwarding, error);
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
    if (address === undefined) fail(forwarding, serviceDown(cause));
    else sendTo(forwarding, address);
  };

  const sendTo = (forwarding: Forwarding, address: ServiceAddress) => {
    address.inFlight += 1;
    forwarding.tried.push(address);
    send(forwarding);
  };

  const onError = (error: Error, request: IncomingMessage) => {
    const forwarding = request[forwardingOf];
    if (forwarding === undefined || forwarding.failed || !underway.has(forwarding)) return;
    // The caller has left; the end of its response follows.
    if (request.socket.destroyed) return;
    if (forwarding.replied) return failLost(forwarding, serviceBrokeOff(error));
    if (forwarding.serviceRequest === undefined) {
      const address = forwarding.tried.at(-1);
      if (address !== undefined) pools[forwarding.endpoint.service].refused(address);
      return sendToNext(forwarding, error);
    }
    if (mayRepeat(forwarding)) {
      forwarding.repeats += 1;
      return send(forwarding);
    }
    if (!moveOn(forwarding)) failLost(forwarding, serviceLost(forwarding.endpoint, request, error));
  };

  /** Sends a request whose service was lost to another one, once: a request that kills services must not meet all of them. */
  const moveOn = (forwarding: Forwarding): boolean => {
    const { endpoint, body, tried, context } = forwarding;
    if (forwarding.movedOn || !body.isWhole || !mayMoveOn(endpoint)) return false;
    const pool = pools[endpoint.service];
    const lost = tried.at(-1);
    if (lost !== undefined) pool.refused(lost);
    const next = pool.pick(tried);
    if (next === undefined || !isIn(next)) return false;
    forwarding.movedOn = true;
    context.line.movedOn = true;
    if (forwarding.request.headers[INTERNAL_HEADERS.delivery] !== undefined)
      forwarding.request.headers[INTERNAL_HEADERS.redelivery] = '1';
    sendTo(forwarding, next);
    return true;
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
        body: new CallerBody(request, mayMoveOn(endpoint) ? kept : undefined),
        waitingSinceMs: performance.now(),
        followBody: undefined,
        followReply: undefined,
        tried: [],
        index: -1,
        serviceRequest: undefined,
        repeats: 0,
        movedOn: false,
        replied: false,
        failed: false,
      };
      request[forwardingOf] = forwarding;
      underway.add(forwarding);
      response.once('close', () => {
        underway.remove(forwarding);
        forwarding.body.release();
        for (const address of forwarding.tried) address.inFlight -= 1;
        if (!response.writableFinished) forwarding.serviceRequest?.destroy();
      });
      // The body of a small request comes in the packet of its head, and is there once this turn is over.
      if (request.complete || !mayHaveBody(request.method ?? '')) sendToNext(forwarding);
      else process.nextTick(() => underway.has(forwarding) && sendToNext(forwarding));
    },
    get inFlight() {
      return underway.size;
    },
    failOn: underway.failOn,
    close: underway.close,
  };
}
