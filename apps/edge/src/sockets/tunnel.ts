import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { REALTIME } from '@gateway/contracts/endpoints/endpoints';
import { realtimeErrorEvent, writeError } from '@gateway/service-kit/error-response';
import { http } from '@gateway/service-kit/node-http';
import { responseHeaders } from '../forwarding/response-headers.ts';
import { serviceDown, serviceTooSlow, socketLost } from '../forwarding/service-errors.ts';
import type { ServiceAddress, ServicePool } from '../services/service-pool.ts';
import { ServiceFrames } from './service-frames.ts';
import type { Opening, OpenSocket } from './socket-door.ts';

interface TunnelOptions {
  readonly pools: Readonly<Record<Opening['endpoint']['service'], ServicePool>>;
  readonly stopping: AbortSignal;
  /** How long a caller may take nothing of what its service has sent last. */
  readonly callerIdleMs: number;
}

/** A service in the same network answers a handshake at once or is not there. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Headers of a service's 101 that its caller gets (RFC 6455 §4.2.2). */
const PASSED = ['sec-websocket-accept', 'sec-websocket-protocol', 'x-request-id'] as const;

/**
 * Connects WebSockets with a service in another process: after its 101 bytes pass in both directions as they are. Nothing
 * passes before, and each has a connection of its own, so that no bytes of a caller's can become a request.
 */
export function createTunnels({ pools, stopping, callerIdleMs }: TunnelOptions): OpenSocket {
  const tunnels = new Set<Tunnel>();
  // Not among the requests in flight: most are idle, and would keep requests from an address for as long as they last.
  const socketsOf = new WeakMap<ServiceAddress, number>();
  const countOf = (address: ServiceAddress) => socketsOf.get(address) ?? 0;
  stopping.addEventListener('abort', () => {
    for (const tunnel of tunnels) tunnel.finish();
  });

  const connect = (opening: Opening, tried: readonly ServiceAddress[], cause?: unknown): void => {
    const { request, response, context, socket, endpoint } = opening;
    const pool = pools[endpoint.service];
    const address = pool.pick(tried, countOf);
    if (address === undefined) {
      writeError(response, serviceDown(cause), context);
      return;
    }
    socketsOf.set(address, countOf(address) + 1);
    let isOver = false;
    const end = () => {
      if (!isOver) socketsOf.set(address, countOf(address) - 1);
      isOver = true;
    };
    const { host, port } = address;
    const { url: path = '/', headers } = request;
    const outgoing = http.request({ host, port, method: 'GET', path, headers, agent: false });
    const leave = () => outgoing.destroy();
    const timer = setTimeout(() => {
      outgoing.off('error', fail).on('error', () => undefined);
      outgoing.destroy();
      end();
      writeError(response, serviceTooSlow(HANDSHAKE_TIMEOUT_MS), context);
    }, HANDSHAKE_TIMEOUT_MS);
    const settled = () => {
      clearTimeout(timer);
      socket.off('close', leave);
    };
    const fail = (error: Error) => {
      settled();
      end();
      if (socket.destroyed) return;
      pool.refused(address);
      connect(opening, [...tried, address], error);
    };
    socket.once('close', leave);
    outgoing.on('error', fail);
    outgoing.once('response', (reply) => {
      settled();
      reply.once('close', end);
      passRefusal(opening, reply);
    });
    outgoing.once('upgrade', (reply, service: Socket, head: Buffer) => {
      settled();
      service.once('close', end);
      const tunnel = new Tunnel(opening, service, callerIdleMs);
      tunnels.add(tunnel);
      service.once('close', () => tunnels.delete(tunnel));
      tunnel.begin(reply, head);
      if (stopping.aborted) tunnel.finish();
    });
    outgoing.end();
  };

  return (opening) => {
    opening.context.line.forwardedTo = opening.endpoint.service;
    connect(opening, []);
  };
}

/** The service's own answer instead of a WebSocket. */
function passRefusal({ response, context }: Opening, reply: IncomingMessage): void {
  response.writeHead(reply.statusCode ?? 502, responseHeaders(reply.rawHeaders, response, context.requestId));
  reply.pipe(response);
}

/** How a caller is told that the service is lost (IANA: service restart): clients that reconnect by themselves do so. */
const LOST = { code: 1012, reason: 'The connection broke inside the gateway. Connect again.' };

class Tunnel {
  readonly #opening: Opening;
  readonly #service: Socket;
  readonly #frames = new ServiceFrames();
  readonly #callerIdleMs: number;
  #hasLeft = false;

  constructor(opening: Opening, service: Socket, callerIdleMs: number) {
    this.#opening = opening;
    this.#service = service;
    this.#callerIdleMs = callerIdleMs;
  }

  begin({ headers }: IncomingMessage, head: Buffer): void {
    const { socket: caller, begin } = this.#opening;
    const service = this.#service;
    begin();
    caller.setTimeout(0).setNoDelay(true);
    service.setTimeout(0).setNoDelay(true);
    const lines = PASSED.flatMap((name) =>
      headers[name] === undefined ? [] : [`${name}: ${headers[name]}`],
    );
    caller.write(
      [
        'HTTP/1.1 101 Switching Protocols',
        'upgrade: websocket',
        'connection: Upgrade',
        ...lines,
        '\r\n',
      ].join('\r\n'),
    );
    if (head.length > 0) {
      this.#frames.take(head);
      caller.write(head);
    }
    if (this.#opening.head.length > 0) service.write(this.#opening.head);
    service.on('error', () => service.destroy());
    // While the caller takes nothing the service is not read, and its end not seen: both connections would be held for good.
    let waiting: NodeJS.Timeout | undefined;
    const wait = () => {
      waiting ??= setTimeout(() => caller.destroy(), this.#callerIdleMs).unref();
    };
    const taken = () => {
      clearTimeout(waiting);
      waiting = undefined;
    };
    service.on('pause', wait);
    caller.on('drain', taken);
    caller.once('close', taken);
    service.once('close', () => {
      if (!this.#hasLeft && !this.#frames.isClosed) this.#lose();
      wait();
      caller.destroySoon();
    });
    const leave = () => {
      this.#hasLeft = true;
      // A reset, because the end of the stream means something else to the service.
      service.resetAndDestroy();
    };
    caller.once('end', leave);
    caller.once('close', leave);
    service.on('data', (chunk: Buffer) => this.#frames.take(chunk));
    service.pipe(caller, { end: false });
    caller.pipe(service, { end: false });
  }

  /** The service has ended without a close frame: its process was killed, or the network between broke. */
  #lose(): void {
    const { socket: caller, context, endpoint } = this.#opening;
    const error = socketLost();
    context.failure = error;
    const event = endpoint === REALTIME ? realtimeErrorEvent(error, null) : null;
    for (const frame of this.#frames.ending(event, LOST)) caller.write(frame);
  }

  /** The service finishes what runs, and then closes the WebSocket. */
  finish(): void {
    const { socket: caller } = this.#opening;
    caller.unpipe(this.#service);
    caller.resume();
    this.#service.end();
  }
}
