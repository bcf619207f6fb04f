import type { RequestListener, Server, ServerOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { endAfterAnswer, isBehindLast } from '@gateway/service-kit/life/serving';
import type { Logger } from '@gateway/service-kit/logger';
import type { Metrics } from '@gateway/service-kit/metrics';
import { requestIdOf } from '@gateway/service-kit/request/request-id';
import { UNKNOWN_PATH } from '@gateway/service-kit/request/request-log';
import type { Forwarder } from '../forwarding/forwarder.ts';
import { listenForUpgrades, takesUpgrade } from '../sockets/socket-door.ts';
import { dialectOfPacket, failureText, type ParserError, parserFailure } from './parser-failure.ts';

const MAX_HEADER_BYTES = 32 * 1024;
const HEADERS_TIMEOUT_MS = 30_000;
const TIMEOUT_CHECK_MS = 5000;
/** Longer than the load balancers' usual 60 s, so that they close, and never in the middle of a request. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

/** How long a refused connection stays open so that its reply can be read. */
const CLOSE_GRACE_MS = 5000;

const destroyLater = (socket: Duplex): void =>
  void setTimeout(() => socket.destroy(), CLOSE_GRACE_MS).unref();

function endSoon(socket: Duplex, text?: string): void {
  socket.end(text);
  destroyLater(socket);
}

interface EdgeServerSettings {
  readonly requestTimeoutMs: number;
  readonly takesSockets: boolean;
}

export const edgeServerOptions = ({ requestTimeoutMs, takesSockets }: EdgeServerSettings): ServerOptions => ({
  shouldUpgradeCallback: takesSockets ? takesUpgrade : () => false,
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
  requestTimeout: requestTimeoutMs,
  connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_MS, requestTimeoutMs),
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
});

interface ConfigureOptions {
  readonly app: RequestListener;
  readonly forwarder: Forwarder;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * The server's own events. A caller that waits for `100 Continue` gets it when its key has been accepted, and a request
 * that Node's parser refuses is answered in the caller's dialect if it can be recognised.
 */
export function configureEdgeServer(
  server: Server,
  { app, forwarder, logger, metrics }: ConfigureOptions,
): void {
  server.on('checkContinue', app);
  listenForUpgrades(server, app);
  server.on('clientError', (error: ParserError, socket: Duplex) => {
    if (isBehindLast(error)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const failure = parserFailure(error);
    if (forwarder.failOn(socket, failure)) return endSoon(socket);
    if (endAfterAnswer(socket)) return destroyLater(socket);
    const requestId = requestIdOf(undefined);
    const dialect = dialectOfPacket(error.rawPacket);
    const status = failure.status(dialect);
    endSoon(socket, failureText(failure, dialect, requestId));
    metrics.request({ endpoint: UNKNOWN_PATH, status, outcome: 'refused' }, 0);
    const reason = { 'error.code': failure.code, 'error.parser': error.code };
    logger.info({ path: UNKNOWN_PATH, requestId, status, outcome: 'refused', ...reason });
  });
}
