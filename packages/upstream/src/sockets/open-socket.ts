import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Candidate } from '../candidate.ts';
import { failureError } from '../failures/failure.ts';
import { failureRule } from '../failures/failure-rules.ts';
import type { Attempt } from '../replies/reply.ts';
import type { SendServices } from '../sending/send.ts';
import { SendProgress, type Turn } from '../sending/send-progress.ts';
import { type Connected, type ConnectOptions, connectSocket } from './connect-socket.ts';

export interface SocketOptions extends Omit<ConnectOptions, 'turn' | 'withinMs' | 'query'> {
  /** Best first. */
  readonly candidates: readonly Candidate[];
  /** Of the address, without `?`. */
  readonly query: (candidate: Candidate) => string;
}

/** Who takes what a provider sends over a WebSocket. */
export interface SocketSink {
  /** One message, its bytes as they came. */
  onMessage(data: Buffer, isBinary: boolean): void;
  /** What has been sent is on its way. */
  onDrain(): void;
  /** Called once, last. */
  onClose(code: number, reason: string): void;
}

/** A WebSocket to a provider, on which a session has begun. It must be closed. */
export interface UpstreamSocket {
  readonly candidate: Candidate;
  /** Every attempt, the successful one last. */
  readonly attempts: readonly Attempt[];
  /** Gives what has come and will come to the sink, in its order. */
  start(sink: SocketSink): void;
  send(data: Buffer | string, isBinary?: boolean): void;
  /** What was sent and is not on its way. */
  readonly bufferedBytes: number;
  /** Nothing more is read of the provider until `resume`. */
  pause(): void;
  resume(): void;
  /** @param isFailure it is the provider's fault */
  close(isFailure?: boolean): void;
}

const LEFT = failureRule('left').message;

/** Tries candidates one after the other. Once a session has begun there is no other candidate for it any more. */
export async function openSocket(services: SendServices, options: SocketOptions): Promise<UpstreamSocket> {
  const { candidates, query, signal } = options;
  const { accounts, health, onWait } = services;
  const progress = new SendProgress({
    candidates,
    turns: health.turns(candidates),
    stateOf: (candidate) => accounts.of(candidate),
    onWait,
    onAttempt: (one) => services.onAttempt?.(one),
  });
  const left = () => new GatewayError('client_closed_request', LEFT);
  for (;;) {
    const turn = await progress.next({ isHedge: false, ended: signal });
    if (turn === null) throw signal.aborted ? left() : progress.error();
    if (signal.aborted) {
      progress.skip(turn);
      throw left();
    }
    const { withinMs } = progress.begin();
    const startedAtMs = performance.now();
    const report = (stage: 'first output' | 'end', outcome: Parameters<typeof health.report>[1]['outcome']) =>
      health.report(turn.candidate, { startedAtMs, stage, outcome });
    const { connected, failure } = await connectSocket({
      ...options,
      ...{ turn, withinMs, query: query(turn.candidate) },
    }).catch((error: unknown) => {
      turn.state.slots.release();
      report('first output', 'neutral');
      throw error;
    });
    const durationMs = performance.now() - startedAtMs;
    progress.record({
      turn,
      outcome: failure?.kind ?? 'ok',
      status: failure === null ? SWITCHED : failure.status,
      durationMs,
      detail: failure?.detail ?? null,
    });
    if (connected !== null) {
      report('first output', 'ok');
      return openedSocket(connected, { turn, attempts: progress.attempts, report });
    }
    turn.state.slots.release();
    report('first output', failure.trouble ?? 'neutral');
    if (signal.aborted) throw left();
    if (!failureRule(failure.kind).elsewhere) throw failureError(failure);
    progress.failed(failure);
  }
}

const SWITCHED = 101;
/** RFC 6455 §7.4.1 */
const [NORMAL, GOING_AWAY] = [1000, 1001];
/** What was sent is of no known kind, no text, not allowed or too big: that shows nothing about the provider, a caller can cause it. */
const OF_CALLERS: ReadonlySet<number> = new Set([1003, 1007, 1008, 1009]);

interface Opened extends Pick<UpstreamSocket, 'attempts'> {
  readonly turn: Turn;
  readonly report: (stage: 'end', outcome: 'ok' | { cause: 'failing'; waitMs: null }) => void;
}

/** What a connection becomes when its session has begun: its slot is free again when it is closed. */
function openedSocket({ webSocket, queue }: Connected, { turn, attempts, report }: Opened): UpstreamSocket {
  let sink: SocketSink | null = null;
  let isOurs = false;
  let isFailed = false;
  let closed: { readonly code: number; readonly reason: string } | null = null;
  queue.onMessage = (data, isBinary) => {
    if (sink === null) queue.push({ data, isBinary });
    else sink.onMessage(data, isBinary);
  };
  webSocket.once('close', (code, reason) => {
    turn.state.slots.release();
    const isEnd = isOurs ? !isFailed : code === NORMAL || code === GOING_AWAY;
    if (isEnd) report('end', 'ok');
    else if (isOurs || !OF_CALLERS.has(code)) report('end', { cause: 'failing', waitMs: null });
    closed = { code, reason: reason.toString() };
    sink?.onClose(closed.code, closed.reason);
  });
  return {
    candidate: turn.candidate,
    attempts,
    start: (started) => {
      sink = started;
      queue.flush((data, isBinary) => started.onMessage(data, isBinary));
      if (closed !== null) started.onClose(closed.code, closed.reason);
    },
    send: (data, isBinary = false) => {
      if (webSocket.readyState === webSocket.OPEN)
        webSocket.send(data, { binary: isBinary }, () => sink?.onDrain());
    },
    get bufferedBytes() {
      return webSocket.bufferedAmount;
    },
    pause: () => webSocket.pause(),
    resume: () => webSocket.resume(),
    close: (isFailure = false) => {
      isOurs = true;
      isFailed = isFailure;
      webSocket.close(NORMAL);
    },
  };
}
