import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { type ForwardProxy, ProxyError } from './proxy.ts';

interface TunnelOptions {
  readonly proxy: ForwardProxy;
  readonly connectMs: number;
  /** Makes the connection within the tunnel. */
  readonly connect: buildConnector.connector;
}

/** Connects by a proxy's CONNECT (RFC 9110, 9.3.6): what the connection carries is not seen by the proxy. */
export const tunnelConnector =
  ({ proxy, connectMs, connect }: TunnelOptions): buildConnector.connector =>
  (options, callback) => {
    const { hostname, protocol, port } = options;
    openTunnel({
      proxy,
      connectMs,
      target: `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`,
    }).then(
      (httpSocket) => connect({ ...options, httpSocket }, callback),
      (error: Error) => callback(error, null),
    );
  };

interface Tunnel {
  readonly proxy: ForwardProxy;
  readonly connectMs: number;
  /** Host and port. */
  readonly target: string;
}

async function openTunnel({ proxy, connectMs, target }: Tunnel): Promise<Socket> {
  const { authorization, origin } = proxy;
  // Without a proxy these modules are not loaded: as imports, they bring Node's own fetch with them.
  const { request: requestBy } = await (origin.startsWith('https:')
    ? import('node:https')
    : import('node:http'));
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const request = requestBy(origin, {
    method: 'CONNECT',
    path: target,
    headers: { host: target, ...(authorization !== null && { 'proxy-authorization': authorization }) },
    agent: false,
  });
  const timer = setTimeout(() => {
    reject(new ProxyError('PROXY_TIMEOUT', `the proxy ${origin} did not connect within ${connectMs} ms`));
    request.destroy();
  }, connectMs);
  request.once('connect', ({ statusCode = 0 }, socket: Socket, head: Buffer) => {
    clearTimeout(timer);
    const refusal = refusalOf(statusCode, proxy);
    if (refusal === null) {
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
      return;
    }
    socket.destroy();
    reject(refusal);
  });
  request.once('error', (error) => {
    clearTimeout(timer);
    reject(unreachableProxy(proxy, error));
  });
  request.once('response', ({ statusCode = 0 }) => {
    clearTimeout(timer);
    request.destroy();
    reject(refusalOf(statusCode, proxy) ?? unreachableProxy(proxy, new Error('it is no proxy')));
  });
  request.end();
  return promise;
}

const HINTS: Readonly<Record<number, string>> = {
  403: 'its rules do not allow this address',
  407: 'the user and the password in its address are missing or wrong',
};

/** The error for a proxy's status; null: the tunnel is open. */
function refusalOf(status: number, { origin }: ForwardProxy): ProxyError | null {
  if (status >= 200 && status < 300) return null;
  const hint = HINTS[status] ?? (status >= 500 ? 'it cannot reach this address' : undefined);
  const message = `the proxy ${origin} answered ${status}${hint === undefined ? '' : `: ${hint}`}`;
  return new ProxyError('PROXY_REFUSED', message);
}

/** The error for a proxy that is not there. */
export const unreachableProxy = ({ origin }: ForwardProxy, cause: Error): ProxyError =>
  new ProxyError('PROXY_UNREACHABLE', `the proxy ${origin} cannot be reached: ${cause.message}`, cause);
