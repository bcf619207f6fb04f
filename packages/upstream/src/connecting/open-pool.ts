import { Agent, buildConnector, type Dispatcher, Pool } from 'undici';
import { allowedByProxy, type IsAllowed, publicConnector } from '../fetching/public-connector.ts';
import { finalReplies } from '../replies/final-reply.ts';
import type { Network } from './network.ts';
import type { ForwardProxy } from './proxy.ts';
import { tunnelConnector, unreachableProxy } from './tunnel.ts';
import { withoutInterim } from './without-interim.ts';

interface PoolOptions {
  readonly network: Network;
  readonly connectMs: number;
  /** The addresses that may be connected to; absent: all. */
  readonly isAllowed?: IsAllowed;
  /** Whether a connection is kept for the next request; absent: yes. */
  readonly isKept?: boolean;
  /** A reply with a longer body fails; absent: none does. */
  readonly maxReplyBytes?: number;
}

/** HTTP/1.1 only: a lost connection then costs one request and not a hundred. Who uses the pool sets the time limits. */
const SETTINGS = { connections: null, allowH2: false, headersTimeout: 0, bodyTimeout: 0 } as const;

/**
 * The connections to one origin, in the way that the network has it: directly; by a proxy's tunnel for https; and for http in
 * requests that the proxy forwards, since most proxies make tunnels to the port of https only.
 */
export function openPool(origin: string, options: PoolOptions): Dispatcher {
  const { network, connectMs, isAllowed, isKept = true, maxReplyBytes: maxResponseSize = -1 } = options;
  const settings = { ...SETTINGS, maxResponseSize, ...(!isKept && { pipelining: 0 }) };
  const url = new URL(origin);
  const secure = network.certificates === null ? {} : { secureContext: network.certificates.context };
  const direct = buildConnector({ allowH2: false, timeout: connectMs, ...secure });
  const proxy = network.proxyFor(url);
  if (proxy === null) {
    const connect = isAllowed === undefined ? direct : publicConnector(connectMs, isAllowed, secure);
    return new Pool(origin, { ...settings, connect: withoutInterim(connect) });
  }
  const guarded = (connect: buildConnector.connector) =>
    isAllowed === undefined ? connect : allowedByProxy(connect, url.hostname, isAllowed);
  if (url.protocol === 'https:') {
    const connect = guarded(tunnelConnector({ proxy, connectMs, connect: direct }));
    return new Pool(origin, { ...settings, connect: withoutInterim(connect) });
  }
  const connect = guarded(toProxy(proxy, buildConnector({ allowH2: false, timeout: connectMs })));
  const pool = new Pool(proxy.origin, { ...settings, connect: withoutInterim(connect) });
  return pool.compose(forwarded(url, proxy));
}

/** Connections that are no pool's, since each carries a protocol of its own: directly, or by a proxy's tunnel. */
export function openConnector(
  origin: string,
  { network, connectMs }: Pick<PoolOptions, 'network' | 'connectMs'>,
): buildConnector.connector {
  const secure = network.certificates === null ? {} : { secureContext: network.certificates.context };
  const connect = buildConnector({ allowH2: false, timeout: connectMs, ...secure });
  const proxy = network.proxyFor(new URL(origin));
  return proxy === null ? connect : tunnelConnector({ proxy, connectMs, connect });
}

/** For requests to several origins: each has its pool. Replies arrive as `FinalReply` has them. */
export const openAgent = (options: PoolOptions): Dispatcher =>
  new Agent({ factory: (origin) => openPool(String(origin), options) }).compose(finalReplies);

const toProxy =
  (proxy: ForwardProxy, connect: buildConnector.connector): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...result) => {
      const [error] = result;
      if (error === null) callback(...result);
      else callback(unreachableProxy(proxy, error), null);
    });

/** Requests as a proxy forwards them (RFC 9112, 3.2.2): with the whole address, and with what the proxy wants to know. */
const forwarded =
  (
    { origin, host }: URL,
    { origin: proxyOrigin, authorization }: ForwardProxy,
  ): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) => {
    const added = { host, ...(authorization !== null && { 'proxy-authorization': authorization }) };
    const { headers } = options;
    return dispatch(
      {
        ...options,
        origin: proxyOrigin,
        path: origin + options.path,
        headers: Array.isArray(headers)
          ? [...headers, ...Object.entries(added).flat()]
          : { ...headers, ...added },
      },
      handler,
    );
  };
