import { GatewayError } from '@gateway/contracts/gateway-error';
import { isLogged } from '@gateway/model-service/content-log/choose-content';
import { realtimeErrorEvent, toGatewayError } from '@gateway/service-kit/error-response';
import type { Handshake, SocketArrival } from '@gateway/service-kit/request/handshake';
import type { WebSocket } from 'ws';
import type { SessionsOptions } from './accept-sessions.ts';
import { CallerSocket } from './caller-socket.ts';
import { type OpenedSession, openSession } from './open-session.ts';
import type { CloseReason } from './realtime-metrics.ts';
import { RealtimeSession } from './realtime-session.ts';
import { createResponseAccounts, type ResponseAccounts } from './response-accounts.ts';
import { SessionContent } from './session-content.ts';
import type { Closing } from './session-end.ts';
import { createSessionFacts } from './session-facts.ts';

/** One caller, from the handshake until everything is settled. */
export interface AcceptedSession {
  /** To be called every few seconds: ends what is gone, idle or too old, and what its key may no longer have. */
  check(): void;
  /** The process begins to stop. */
  stop(): void;
  /** Its drain deadline has passed. */
  breakOff(): void;
  readonly over: Promise<void>;
}

interface Arrived {
  readonly webSocket: WebSocket;
  readonly handshake: Handshake;
  readonly arrival: SocketArrival;
}

/** The one log line of a session. */
interface SessionLine {
  readonly reason: CloseReason;
  readonly [field: string]: string | number | undefined;
}

/** Signs of life that may be missing in a row. */
const MAX_MISSED_PINGS = 3;
const REFUSED: Closing = {
  code: 1008,
  reason: 'The session may not be opened. The error event before says why.',
};
const TRY_LATER: Closing = {
  code: 1013,
  reason: 'No session can be opened at the moment. Try again later.',
};

export function acceptSession(
  options: SessionsOptions,
  { webSocket, handshake: { request, socket }, arrival }: Arrived,
  onOver: (line: SessionLine) => void,
): AcceptedSession {
  const { limits, socketMemory, uptime, upstream, maxJsonDepth } = options;
  const { identity, requestId: connectionId } = arrival;
  const { url = '/', headers } = request;
  const openedAtMs = uptime();
  const leaving = new AbortController();
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const early: { readonly data: Buffer; readonly isBinary: boolean }[] = [];
  let usedAtMs = openedAtMs;
  let isStopping = false;
  let isLost = false;
  let running: { readonly session: RealtimeSession; readonly accounts: ResponseAccounts } | null = null;

  const end = (reason: CloseReason, opened: OpenedSession | null, error?: GatewayError) => {
    const { channel, account } = opened?.socket.candidate ?? {};
    onOver({
      ...{ reason, connectionId, keyId: identity.keyId, durationMs: Math.round(uptime() - openedAtMs) },
      ...(opened !== null && {
        model: opened.model.name,
        channel: channel?.name,
        account: account?.name,
        attempts: opened.socket.attempts.length,
      }),
      ...(running !== null && {
        responses: running.session.responseCount,
        bytesIn: running.session.bytesIn,
        bytesOut: running.session.bytesOut,
      }),
      ...(error !== undefined && { 'error.code': error.code, 'error.cause': causeOf(error) }),
    });
    resolve();
  };

  const caller = new CallerSocket(webSocket, {
    socket,
    memory: socketMemory.open(identity),
    silenceMs: limits.pingMs * MAX_MISSED_PINGS,
    now: uptime,
    onMessage: (data, isBinary) => {
      usedAtMs = uptime();
      if (running !== null) running.session.fromCaller(data, isBinary);
      // One that is refused may go on sending until it is closed.
      else if (caller.isOpen) early.push({ data, isBinary });
    },
    onDrain: () => running?.session.callerDrained(),
    onFlood: () => {
      if (running === null) caller.terminate();
      else running.session.end('flood', tooMuch());
    },
    onClose: (lost) => {
      isLost = lost;
      leaving.abort();
      running?.session.callerClosed(lost);
    },
  });

  const begin = async () => {
    // Nothing is read of the caller before there is somebody to read for.
    caller.pause();
    let opened: OpenedSession;
    try {
      opened = await openSession(options, { url, headers, arrival, signal: leaving.signal });
    } catch (thrown) {
      const error = toGatewayError(thrown);
      refuse(webSocket, error);
      end(error.source === 'upstream' ? 'opening' : 'refused', null, error);
      return;
    }
    const { model, socket: provider, settings } = opened;
    const facts = createSessionFacts(model.contextWindow ?? model.knownContextWindow);
    const content = new SessionContent({
      log: options.contentLog,
      isOn: () => isLogged(upstream.configuration, { identity, model: model.name }),
      ...{ headers, model: model.name, channel: provider.candidate.channel.name },
      settleMs: limits.settleMs,
    });
    const accounts = createResponseAccounts({
      ...options,
      ...{
        content,
        headers,
        connectionId,
        secretHash: identity.secretHash,
        opener: identity,
        model,
        socket: provider,
      },
    });
    const session = new RealtimeSession({
      ...{ caller, socket: provider, accounts, facts, content, upstream, modelName: model.name },
      ...{ settings, maxJsonDepth, settleMs: limits.settleMs },
      onOver: (reason) => {
        opened.release();
        end(reason, opened);
      },
    });
    running = { session, accounts };
    session.start();
    for (const { data, isBinary } of early.splice(0)) session.fromCaller(data, isBinary);
    if (leaving.signal.aborted) session.callerClosed(isLost);
    else if (isStopping) session.stop();
  };
  void begin();

  return {
    over,
    check: () => {
      const gone = caller.check();
      if (gone !== null) {
        running?.session.end(gone);
        caller.terminate();
        return;
      }
      if (running === null) return;
      const { session, accounts } = running;
      const nowMs = uptime();
      session.check(nowMs);
      if (!session.isIdle) usedAtMs = nowMs;
      if (nowMs - openedAtMs >= limits.lifeMs) session.end('age', tooOld());
      else if (nowMs - usedAtMs >= limits.idleMs) session.end('idle', tooIdle());
      else accounts.checkKey().catch((error: unknown) => session.keyChanged(toGatewayError(error)));
    },
    stop: () => {
      isStopping = true;
      running?.session.stop();
    },
    breakOff: () => {
      leaving.abort();
      running?.session.breakOff();
    },
  };
}

/** Tells a caller why there is no session, in an event: browsers do not show the answer to a handshake. */
export function refuse(webSocket: WebSocket, error: GatewayError): void {
  webSocket.resume();
  webSocket.send(realtimeErrorEvent(error, null));
  const { code, reason } = error.retry ? TRY_LATER : REFUSED;
  webSocket.close(code, reason);
}

const causeOf = ({ options: { cause } }: GatewayError): string | undefined =>
  cause === undefined ? undefined : cause instanceof Error ? cause.message : String(cause);

const tooOld = (): GatewayError =>
  new GatewayError(
    'websocket_connection_limit_reached',
    'This session has reached its maximum age. Open another one and continue there.',
  );

const tooIdle = (): GatewayError =>
  new GatewayError(
    'websocket_connection_limit_reached',
    'This session was idle for too long. Open another one when there is something to say.',
  );

const tooMuch = (): GatewayError =>
  new GatewayError('overloaded', {
    message: 'This session sends more than the gateway can hold at the moment. Send less at a time.',
    retryAfterSeconds: 2,
  });
