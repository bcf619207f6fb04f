/*
 * The way to services in other processes. http-proxy-middleware stands here because a proxy that many people read and mend is
 * the right place for what every proxy does: it takes the request, asks `router` for its target, runs its steps and reports
 * their errors. What is around it is little. One plugin, `exchangeByUndici`, replaces its last step, `node:http`'s client: with
 * that, a small request takes half as much processor time again, edge and all. The rest of this file is what no proxy knows:
 * which address comes next, what may be sent again, and how long a request may take.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServiceName } from '@gateway/contracts/endpoints/endpoints';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { INTERNAL_HEADERS } from '@gateway/contracts/identity';
import { writeError } from '@gateway/service-kit/error-response';
import { http } from '@gateway/service-kit/node-http';
import { mayHaveBody } from '@gateway/service-kit/request/check-request';
import { discardRest } from '@gateway/service-kit/request/discard-rest';
import { createProxyMiddleware, type Plugin, proxyEventsPlugin } from 'http-proxy-middleware';
import type { EdgeContext } from '../request/edge-context.ts';
import type { ServiceConnections } from '../services/service-connections.ts';
import { isIn, type ServiceAddress, type ServicePool } from '../services/service-pool.ts';
import { CallerBody, KeptBytes } from './caller-body.ts';
import { isRead, mayMoveOn } from './repeating.ts';
import { serviceBrokeOff, serviceDown, serviceLost } from './service-errors.ts';
import { ServiceExchange } from './service-exchange.ts';
import { type ForwardedEndpoint, type Watched, type WatchLimits, watchRequests } from './watch-requests.ts';

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

/** One request that the edge forwards. */
interface Forwarding extends Watched {
  readonly body: CallerBody;
  /** The addresses tried so far; the last one is the current one. */
  readonly tried: ServiceAddress[];
  /** Its present sending, to the current address. */
  exchange: ServiceExchange | undefined;
  /** How often it was sent again to the same address. */
  repeats: number;
  /** It was sent to another address after its service was lost. */
  movedOn: boolean;
  /** The edge has answered instead, or aborted the reply. */
  failed: boolean;
}

/** The property of a request by which the proxy's steps, which get nothing else, find what is known of it. */
const forwardingOf: unique symbol = Symbol('forwarding');
declare module 'node:http' {
  interface IncomingMessage {
    [forwardingOf]?: Forwarding;
  }
}

/** Each repeat may meet one more connection that the service is closing. */
const MAX_REPEATS = 3;

/** The step of the proxy that sends a request has no name of its own. */
const SENDING_STEP = '';

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
    const { request, response, exchange, context } = forwarding;
    writeError(response, error, context);
    forwarding.body.stop();
    exchange?.abort();
    if (!request.complete) discardRest(request);
  };
  const failLost = (forwarding: Forwarding, error: GatewayError): void => {
    forwarding.context.serviceLost = true;
    fail(forwarding, error);
  };
  const underway = watchRequests<Forwarding>({
    ...limits,
    isReplied: ({ exchange }) => exchange?.stage === 'replied',
    isHeld: ({ body, exchange }) => exchange?.stage !== 'sent' || body.held,
    fail,
  });

  const sendToNext = (forwarding: Forwarding, cause?: unknown): void => {
    const address = pools[forwarding.endpoint.service].pick(forwarding.tried);
    if (address === undefined) fail(forwarding, serviceDown(cause));
    else sendTo(forwarding, address);
  };
  const sendTo = (forwarding: Forwarding, address: ServiceAddress): void => {
    address.inFlight += 1;
    forwarding.tried.push(address);
    void proxy(forwarding.request, forwarding.response);
  };

  const onLost = (forwarding: Forwarding, exchange: ServiceExchange, error: Error) => {
    const { request, endpoint } = forwarding;
    // The caller may have left: the end of its response follows.
    if (forwarding.failed || !underway.has(forwarding) || request.socket.destroyed) return;
    if (exchange.stage === 'replied') return failLost(forwarding, serviceBrokeOff(error));
    if (exchange.stage === 'connecting') {
      pools[endpoint.service].refused(exchange.address);
      return sendToNext(forwarding, error);
    }
    if (exchange.reusedConnection && isRead(request) && forwarding.repeats < MAX_REPEATS) {
      forwarding.repeats += 1;
      return void proxy(request, forwarding.response);
    }
    const next = nextAfterLoss(forwarding, exchange.address);
    if (next === undefined) return failLost(forwarding, serviceLost(endpoint, request, error));
    forwarding.movedOn = true;
    forwarding.context.line.movedOn = true;
    if (request.headers[INTERNAL_HEADERS.delivery] !== undefined)
      request.headers[INTERNAL_HEADERS.redelivery] = '1';
    sendTo(forwarding, next);
  };

  /** Where a request goes whose service was lost, once: one that kills services must not meet all of them. */
  const nextAfterLoss = (
    { movedOn, body, endpoint, tried }: Forwarding,
    lost: ServiceAddress,
  ): ServiceAddress | undefined => {
    if (movedOn || !body.isWhole || !mayMoveOn(endpoint)) return undefined;
    const pool = pools[endpoint.service];
    pool.refused(lost);
    const next = pool.pick(tried);
    return next !== undefined && isIn(next) ? next : undefined;
  };

  const exchangeByUndici: Plugin = (server) =>
    server.before('web', SENDING_STEP, (request) => {
      const forwarding = request instanceof http.IncomingMessage ? request[forwardingOf] : undefined;
      const address = forwarding?.tried.at(-1);
      if (forwarding === undefined || address === undefined) return;
      const { body } = forwarding;
      const { method = 'GET', url = '/', headers } = forwarding.request;
      const exchange = new ServiceExchange(forwarding, address, {
        connection: connections.take(address),
        onReply: () => body.release(),
        onEnd: () => !forwarding.request.complete && stopReading(forwarding),
        onLost: (error) => onLost(forwarding, exchange, error),
      });
      forwarding.exchange = exchange;
      exchange.send({
        method,
        path: url,
        headers,
        body: mayHaveBody(method) ? (body.arrived() ?? body) : null,
      });
      return true;
    });
  const proxy = createProxyMiddleware({
    router: (request) => {
      const address = request[forwardingOf]?.tried.at(-1);
      if (address === undefined) throw new Error('a request without an address');
      return { protocol: 'http:', host: address.host, port: address.port };
    },
    // Its own plugins log, and answer in plain text.
    ejectPlugins: true,
    plugins: [proxyEventsPlugin, exchangeByUndici],
    on: {
      error: (error, request) => {
        const forwarding = request[forwardingOf];
        if (forwarding !== undefined) fail(forwarding, serviceDown(error));
      },
    },
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
        exchange: undefined,
        repeats: 0,
        movedOn: false,
        failed: false,
      };
      request[forwardingOf] = forwarding;
      context.line.forwardedTo = endpoint.service;
      underway.add(forwarding);
      response.once('close', () => {
        underway.remove(forwarding);
        forwarding.body.release();
        for (const address of forwarding.tried) address.inFlight -= 1;
        if (!response.writableFinished) forwarding.exchange?.abort();
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

function stopReading({ request, body }: Forwarding): void {
  body.stop();
  discardRest(request);
}
