import { REALTIME } from '@gateway/contracts/endpoints/endpoints';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import type { SocketMemory } from '@gateway/model-service/sockets/socket-memory';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { type AcceptSocket, onEdgeEnd } from '@gateway/service-kit/request/handshake';
import { type ServerOptions, WebSocketServer } from 'ws';
import { type AcceptedSession, acceptSession, refuse } from './accept-session.ts';
import type { OpeningServices } from './open-session.ts';
import type { CloseReason, RealtimeMetrics } from './realtime-metrics.ts';

export interface SessionLimits {
  readonly maxSessions: number;
  readonly maxSessionsPerKey: number;
  readonly pingMs: number;
  /** How long nothing may come from the caller, and nothing be under way. */
  readonly idleMs: number;
  readonly lifeMs: number;
  readonly settleMs: number;
}

export interface SessionsOptions extends OpeningServices {
  readonly limits: SessionLimits;
  readonly maxJsonDepth: number;
  readonly socketMemory: SocketMemory;
  readonly metrics: RealtimeMetrics;
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal;
  /** On a monotonic clock, in milliseconds. */
  readonly uptime: () => number;
  /** Called with the line of each session that is over. */
  readonly onClosed: (line: { readonly reason: CloseReason }) => void;
}

export interface Sessions {
  readonly acceptSocket: AcceptSocket;
  /** Resolves when every session is settled. */
  close(): Promise<void>;
}

/** How long a client may take to answer a close frame. */
const CLOSE_TIMEOUT_MS = 2000;
const RETRY_AFTER_SECONDS = 5;

/** All realtime sessions of this process. One timer looks after all of them. */
export function createSessions(options: SessionsOptions): Sessions {
  const { limits, metrics, stopping, deadline, maxEventBytes } = options;
  const sessions = new Set<AcceptedSession>();
  const ofKeys = new Map<string, number>();
  const serverOptions: ServerOptions & { readonly closeTimeout: number } = {
    noServer: true,
    clientTracking: false,
    // Sound hardly gets smaller, one small frame could become gigabytes, and every connection would hold some 300 KB.
    perMessageDeflate: false,
    maxPayload: maxEventBytes,
    closeTimeout: CLOSE_TIMEOUT_MS,
  };
  const server = new WebSocketServer(serverOptions);
  server.on('headers', (headers, request) => {
    const id = request.headers['x-request-id'];
    if (typeof id === 'string') headers.push(`x-request-id: ${id}`);
  });
  const checking = setInterval(() => {
    for (const session of sessions) session.check();
  }, limits.pingMs);
  const stopAll = () => {
    for (const session of sessions) session.stop();
  };
  const breakOffAll = () => {
    for (const session of sessions) session.breakOff();
  };
  stopping.addEventListener('abort', stopAll, { once: true });
  deadline.addEventListener('abort', breakOffAll, { once: true });

  /** @throws {GatewayError} where the key or the process has too many */
  const count = ({ keyId }: Identity): (() => void) => {
    const ofKey = ofKeys.get(keyId) ?? 0;
    if (ofKey >= limits.maxSessionsPerKey) throw tooManyOfKey(limits.maxSessionsPerKey);
    if (sessions.size >= limits.maxSessions) throw tooMany();
    ofKeys.set(keyId, ofKey + 1);
    return () => {
      const left = (ofKeys.get(keyId) ?? 1) - 1;
      if (left === 0) ofKeys.delete(keyId);
      else ofKeys.set(keyId, left);
    };
  };

  return {
    acceptSocket: (handshake, arrival) => {
      const { request, socket, head } = handshake;
      const before = socket.listeners('end');
      server.handleUpgrade(request, socket, head, (webSocket) => {
        webSocket.on('error', () => undefined);
        let release: () => void;
        try {
          options.load.admit(REALTIME, arrival.identity);
          release = count(arrival.identity);
        } catch (error) {
          refuse(webSocket, toGatewayError(error));
          return;
        }
        metrics.opened();
        const listed: AcceptedSession = acceptSession(options, { webSocket, handshake, arrival }, (line) => {
          release();
          sessions.delete(listed);
          metrics.closed(line.reason);
          options.onClosed(line);
        });
        sessions.add(listed);
        if (stopping.aborted) listed.stop();
        if (arrival.from === 'edge') onEdgeEnd(socket, before, () => listed.stop());
      });
    },
    close: async () => {
      clearInterval(checking);
      stopping.removeEventListener('abort', stopAll);
      deadline.removeEventListener('abort', breakOffAll);
      breakOffAll();
      await Promise.all([...sessions].map(({ over }) => over));
      server.close();
    },
  };
}

const tooManyOfKey = (limit: number): GatewayError =>
  new GatewayError('rate_limited', {
    message: `Your key has ${limit} realtime sessions open, which is its limit. Close one.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

const tooMany = (): GatewayError =>
  new GatewayError('service_unavailable', {
    message: 'The gateway has too many realtime sessions open at the moment. Please try again shortly.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
