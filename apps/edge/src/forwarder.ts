import type { IncomingMessage, ServerResponse } from 'node:http';
import { mayWaitForJob, type ServiceName } from '@gateway/contracts/endpoints';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { JOB_REPLY_TIMEOUT_MS } from '@gateway/contracts/time-limits';
import { discardRest } from '@gateway/service-kit/discard-rest';
import { createUnderway } from '@gateway/service-kit/underway';
import { writeError } from '@gateway/service-kit/write-error';
import { createProxyMiddleware, proxyEventsPlugin } from 'http-proxy-middleware';
import { type BodyLimits, type BodyReading, followBody } from './body-pace.ts';
import { CallerBody } from './caller-body.ts';
import type { EdgeContext } from './edge-context.ts';
import { type ForwardedEndpoint, type Forwarding, forwardingOf, mayRepeat } from './forwarding.ts';
import { createServiceConnections } from './service-connections.ts';
import {
  bodyTooSlow,
  serviceBrokeOff,
  serviceDown,
  serviceLost,
  serviceTooSlow,
  shuttingDown,
} from './service-errors.ts';
import { sendByUndici } from './service-exchange.ts';
import type { ServicePool } from './service-pool.ts';

export interface Forwarder {
  /** Sends a request, whose headers are by now those for the service, on its way; all that can happen there is dealt with. */
  forward(
    request: IncomingMessage,
    response: ServerResponse,
    context: EdgeContext,
    endpoint: ForwardedEndpoint,
  ): void;
  /** The request that is under way on a connection, for errors that only the connection hears of. */
  underwayOn(socket: unknown): Forwarding | undefined;
  fail(forwarding: Forwarding, error: GatewayError): void;
  close(): void;
}

interface ForwarderOptions {
  readonly pools: Readonly<Record<ServiceName, ServicePool>>;
  /** How long a service may take from the end of a request until the first byte of its reply. */
  readonly timeoutMs: number;
  readonly body: BodyLimits;
  readonly deadline: AbortSignal;
}

/** Slow services and slow bodies are looked for this often at most, all requests at once: a timer each would cost every fast one. */
const MOST_CHECK_INTERVAL_MS = 1000;

export function createForwarder({ pools, timeoutMs, body, deadline }: ForwarderOptions): Forwarder {
  const connections = createServiceConnections();
  const underway = createUnderway<Forwarding>();

  const fail = (forwarding: Forwarding, error: GatewayError): void => {
    if (forwarding.failed) return;
    forwarding.failed = true;
    const { request, response, serviceRequest, context } = forwarding;
    writeError(response, error, context);
    forwarding.body.stop();
    serviceRequest?.destroy();
    if (!request.complete) discardRest(request);
  };

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
    if (!mayRepeat(forwarding)) return fail(forwarding, serviceLost(forwarding.endpoint, error));
    forwarding.repeats += 1;
    send(forwarding);
  };

  const proxy = createProxyMiddleware({
    router: (request) => {
      const address = request[forwardingOf]?.tried.at(-1);
      if (address === undefined) throw new Error('a request without an address');
      return { protocol: 'http:', host: address.host, port: address.port };
    },
    // Of the proxy's own plugins only `on` is wanted: the others log, and answer in plain text.
    ejectPlugins: true,
    plugins: [proxyEventsPlugin, sendByUndici(connections)],
    on: { error: onError },
  });

  const slownessOf = (forwarding: Forwarding, nowMs: number): GatewayError | undefined => {
    if (forwarding.request.complete) {
      const limitMs = mayWaitForJob(forwarding.endpoint)
        ? Math.max(timeoutMs, JOB_REPLY_TIMEOUT_MS)
        : timeoutMs;
      return nowMs - forwarding.waitingSinceMs >= limitMs ? serviceTooSlow(limitMs) : undefined;
    }
    forwarding.waitingSinceMs = nowMs;
    const reading = bodyReading(forwarding, nowMs);
    forwarding.followBody ??= followBody(reading, body);
    const slowness = forwarding.followBody(reading);
    return slowness && bodyTooSlow(slowness, body);
  };
  const failAll = (errorOf: (forwarding: Forwarding) => GatewayError | undefined) => {
    for (const forwarding of underway.all()) {
      const error = forwarding.replied ? undefined : errorOf(forwarding);
      if (error !== undefined) fail(forwarding, error);
    }
  };
  const onDeadline = () => failAll(shuttingDown);
  deadline.addEventListener('abort', onDeadline, { once: true });
  const check = setInterval(
    () => {
      const nowMs = performance.now();
      failAll((forwarding) => slownessOf(forwarding, nowMs));
    },
    Math.min(timeoutMs, body.idleMs, MOST_CHECK_INTERVAL_MS),
  );

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
        place: -1,
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
    underwayOn: (socket) => underway.all().find(({ request }) => request.socket === socket),
    fail,
    close: () => {
      clearInterval(check);
      deadline.removeEventListener('abort', onDeadline);
      connections.close();
    },
  };
}

/** The bytes are the connection's, which counts them anyhow. Reading from it stops while the service takes no more. */
const bodyReading = ({ request, serviceRequest, body }: Forwarding, nowMs: number): BodyReading => ({
  nowMs,
  bytes: request.socket.bytesRead,
  held: serviceRequest === undefined || body.held,
});
