import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { keyEnded } from '@gateway/model-service/sockets/caller-access';
import type { ConnectionMemory, SocketMemory } from '@gateway/model-service/sockets/socket-memory';
import { toGatewayError } from '@gateway/service-kit/error-response';
import type { Handshake, SocketArrival } from '@gateway/service-kit/request/handshake';
import type { WebSocket } from 'ws';
import type { CloseReason } from '../metering/text-metrics.ts';
import { createLaneMemory, type LaneMemory } from './lane-memory.ts';
import { createLanes, type Lanes } from './lanes.ts';
import { createMessageReader, type MessageReader, type ReadMessage } from './message-reader.ts';
import type { Connection, RequestRunner } from './run-create.ts';
import type { EventSink, SocketCaller } from './socket-caller.ts';
import { createTextFrames } from './text-frames.ts';

/** RFC 6455 §7.4.1 and IANA's registry. Clients that reconnect by themselves do so after 1001 and 1012. */
const CLOSE_CODES = { idle: 1001, age: 1001, key: 1008, restart: 1012 } as const;

export interface ConnectionLimits {
  readonly maxFrameBytes: number;
  readonly maxJsonDepth: number;
  /** Of what is remembered of responses that are stored nowhere. */
  readonly maxRememberedBytes: () => number;
  /** How long nothing may run and nothing come. */
  readonly idleMs: number;
  /** How long a connection takes new requests. */
  readonly lifeMs: number;
  /** How long a message may take to arrive, from its first byte to its last. */
  readonly messageMs: number;
  /** How long nothing may come in answer to pings. */
  readonly silenceMs: number;
}

interface ConnectionOptions extends Handshake {
  readonly arrival: SocketArrival;
  readonly runner: RequestRunner;
  readonly limits: ConnectionLimits;
  readonly socketMemory: SocketMemory;
  /** In milliseconds, on a clock that only goes forward. */
  readonly now: () => number;
  readonly onClosed: (closed: ClosedConnection) => void;
}

export interface ClosedConnection {
  readonly connectionId: string;
  readonly keyId: string;
  readonly reason: CloseReason;
  readonly requests: number;
  readonly durationMs: number;
}

/** As OpenAI's own. */
const MAX_RUNNING = 16;
const MAX_NAMED_LANES = 32;
const MAX_WAITING = 64;
/** Frames of the largest size that may wait. */
const MAX_WAITING_FRAMES = 2;
/** What a client has not taken, beyond which it gets no answer to what it sends. */
const MAX_UNTAKEN_BYTES = 8 * 1024 * 1024;

/** The same for pings, which are answered before anything is counted. */
const MAX_UNTAKEN_BY_PINGS = 256 * 1024;
/** Less is not counted: most messages are small, and come in one piece. */
const MIN_COUNTED_ARRIVING = 64 * 1024;
const MIN_COUNTED_UNTAKEN = 256 * 1024;
/** What a piece of a message takes beside its bytes. */
const BYTES_OF_PIECE = 128;
/** With the client's mask. */
const BYTES_OF_CONTROL_HEAD = 6;

/** One open WebSocket: its lanes, what it remembers, and its end. */
export class SocketConnection implements Connection, EventSink {
  readonly headers: IncomingHttpHeaders;
  readonly connectionId: string;
  readonly identity: SocketArrival['identity'];
  readonly sink: EventSink = this;
  readonly memory: LaneMemory;
  readonly callers = new Set<SocketCaller>();
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #lanes: Lanes;
  readonly #reader: MessageReader;
  readonly #held: ConnectionMemory;
  readonly #openedAtMs: number;
  /** Of a message that is not complete. */
  #arrivingBytes = 0;
  #arrivingPieces = 0;
  #arrivingSinceMs = 0;
  #hasUntaken = false;
  #waitingBytes = 0;
  #seenAtMs: number;
  #usedAtMs: number;
  #requests = 0;
  /** Why it takes no new requests. */
  #ending: keyof typeof CLOSE_CODES | null = null;
  #reason: CloseReason | null = null;

  constructor(webSocket: WebSocket, options: ConnectionOptions) {
    const { request, socket, arrival, limits, now, onClosed } = options;
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#options = options;
    this.headers = requestHeaders(request.headers);
    this.connectionId = arrival.requestId;
    this.identity = arrival.identity;
    this.#held = options.socketMemory.open(this.identity);
    this.memory = createLaneMemory(limits.maxRememberedBytes, this.#held);
    this.#lanes = createLanes(
      {
        maxRunning: MAX_RUNNING,
        maxNamed: MAX_NAMED_LANES,
        maxWaiting: MAX_WAITING,
        maxWaitingBytes: MAX_WAITING_FRAMES * limits.maxFrameBytes,
      },
      () => this.#onIdle(),
    );
    this.#reader = createMessageReader({
      bounds: { maxBytes: limits.maxFrameBytes, maxDepth: limits.maxJsonDepth },
      owner: this.identity.keyId,
      hold: (bytes) => this.holdWaiting(bytes),
      onMessage: (message) => this.#onRequest(message),
      onBusy: (isBusy) => this.#onBusy(isBusy),
    });
    this.#openedAtMs = this.#seenAtMs = this.#usedAtMs = now();
    webSocket.on('message', (data, isBinary) => this.#onMessage(data, isBinary));
    webSocket.on('pong', (data) => {
      this.#see();
      this.#onControlFrame(data.length);
    });
    webSocket.on('ping', (data) => {
      this.#onControlFrame(data.length);
      // Each ping is answered, whether or not its client reads.
      if (webSocket.bufferedAmount > MAX_UNTAKEN_BY_PINGS) this.#terminate('flood');
    });
    // Before `ws` takes the bytes, and tells of the messages that they complete.
    socket.prependListener('data', ({ length }: Buffer) => this.#onBytes(length));
    webSocket.on('error', () => {
      this.#reason ??= 'protocol';
    });
    socket.on('drain', () => {
      this.#see();
      if (this.#hasUntaken) this.#held.hold('untaken', 0);
      this.#hasUntaken = false;
      for (const caller of this.callers) caller.taken();
    });
    webSocket.once('close', (code) => {
      this.#reader.end();
      this.#lanes.refuseWaiting(shuttingDown);
      for (const caller of this.callers) caller.leave();
      this.memory.end();
      this.#held.end();
      onClosed({
        connectionId: this.connectionId,
        keyId: this.identity.keyId,
        reason: this.#reason ?? (code === ABNORMAL ? 'lost' : 'caller'),
        requests: this.#requests,
        durationMs: Math.round(now() - this.#openedAtMs),
      });
    });
  }

  get isFull(): boolean {
    return this.#socket.writableNeedDrain;
  }

  send(events: readonly (Buffer | string)[]): void {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    this.#socket.write(createTextFrames(events));
    const { writableLength } = this.#socket;
    if (writableLength > MIN_COUNTED_UNTAKEN) this.#onUntaken(writableLength);
  }

  holdWaiting(bytes: number): () => void {
    this.#held.hold('waiting', this.#waitingBytes + bytes);
    this.#waitingBytes += bytes;
    return () => {
      this.#waitingBytes -= bytes;
      this.#held.hold('waiting', this.#waitingBytes);
    };
  }

  onKeyEnded(): void {
    this.end('key');
  }

  /** Takes no new requests, and closes when those that run have ended. */
  end(reason: keyof typeof CLOSE_CODES): void {
    this.#ending ??= reason;
    this.#lanes.refuseWaiting(() => endingError(this.#ending));
    this.#onIdle();
  }

  /** To be called every few seconds: sends a ping, and ends what has lasted too long. */
  check(): void {
    const { limits, now } = this.#options;
    // What it sends meanwhile is not read.
    if (this.#reader.isBusy) this.#see();
    const nowMs = now();
    if (nowMs - this.#seenAtMs >= limits.silenceMs) this.#terminate('silent');
    else if (this.#lanes.isIdle && !this.#reader.isBusy && nowMs - this.#usedAtMs >= limits.idleMs)
      this.end('idle');
    else if (this.#ending === null && nowMs - this.#openedAtMs >= limits.lifeMs) {
      this.#options.runner.refuse(this, null, tooOld());
      this.end('age');
    } else if (this.#webSocket.readyState === this.#webSocket.OPEN) this.#webSocket.ping();
    if (this.#arrivingBytes > 0 && !this.#reader.isBusy && nowMs - this.#arrivingSinceMs >= limits.messageMs)
      this.#terminate('slow');
  }

  #onBytes(length: number): void {
    if (this.#arrivingBytes === 0) this.#arrivingSinceMs = this.#options.now();
    this.#arrivingBytes += length;
    this.#arrivingPieces += 1;
    const bytes = this.#arrivingBytes + this.#arrivingPieces * BYTES_OF_PIECE;
    if (bytes < MIN_COUNTED_ARRIVING) return;
    try {
      this.#held.hold('arriving', bytes);
    } catch (error) {
      this.#reason ??= 'flood';
      this.#options.runner.refuse(this, null, toGatewayError(error));
      this.#socket.pause();
      this.#socket.destroySoon();
    }
  }

  /** It may come between the pieces of a message. */
  #onControlFrame(payloadBytes: number): void {
    this.#arrivingBytes = Math.max(0, this.#arrivingBytes - payloadBytes - BYTES_OF_CONTROL_HEAD);
    if (this.#arrivingBytes === 0) this.#onArrived();
  }

  #onArrived(): void {
    this.#held.hold('arriving', 0);
    this.#arrivingBytes = 0;
    this.#arrivingPieces = 0;
  }

  #onUntaken(bytes: number): void {
    this.#hasUntaken = true;
    try {
      this.#held.hold('untaken', bytes);
    } catch {
      this.#terminate('flood');
    }
  }

  #onMessage(data: unknown, isBinary: boolean): void {
    this.#onArrived();
    this.#see();
    this.#usedAtMs = this.#seenAtMs;
    // A client that sends without reading.
    if (this.#webSocket.bufferedAmount > MAX_UNTAKEN_BYTES) {
      this.#terminate('flood');
      return;
    }
    this.#reader.push(Buffer.isBuffer(data) ? data : Buffer.alloc(0), isBinary);
  }

  /** While a large message is read, its client is not. */
  #onBusy(isBusy: boolean): void {
    if (isBusy) {
      this.#webSocket.pause();
      return;
    }
    this.#see();
    this.#arrivingSinceMs = this.#seenAtMs;
    this.#webSocket.resume();
    this.#onIdle();
  }

  #onRequest(event: ReadMessage): void {
    if (event.kind === 'answered') {
      this.send([event.answer]);
      return;
    }
    const { runner } = this.#options;
    const { lane } = event;
    this.#requests += 1;
    const refuse = (error: GatewayError) => runner.refuse(this, lane, error);
    if (this.#ending !== null) refuse(endingError(this.#ending));
    else if (event.kind === 'create') {
      const { length: bytes } = event.bytes;
      const hold = () => this.holdWaiting(bytes);
      this.#lanes.add({ lane, bytes, hold, run: () => runner.run(this, event), refuse });
    } else if (lane === null) refuse(event.error);
    else this.#lanes.add({ lane, bytes: 0, hold: holdNothing, run: async () => refuse(event.error), refuse });
  }

  #see(): void {
    this.#seenAtMs = this.#options.now();
  }

  #onIdle(): void {
    this.#usedAtMs = this.#options.now();
    if (this.#ending === null || !this.#lanes.isIdle || this.#reader.isBusy) return;
    this.#reason ??= this.#ending;
    this.#webSocket.close(CLOSE_CODES[this.#ending]);
    // Nothing can come any more in answer to the close frame.
    if (this.#socket.readableEnded) this.#socket.end();
  }

  #terminate(reason: CloseReason): void {
    this.#reason ??= reason;
    // A connection without it counts as broken, at the edge too.
    this.#webSocket.close(POLICY);
    this.#webSocket.terminate();
  }
}

/** Of a frame that is no event only its error is left. */
const holdNothing = () => () => undefined;

/** A connection that does what it may not, and one that ended without a close frame. */
const [POLICY, ABNORMAL] = [1008, 1006];

/** Headers of a handshake that do not concern the requests that follow it, beside those of WebSockets. */
const OF_HANDSHAKE = new Set([
  'connection',
  'upgrade',
  'content-length',
  'idempotency-key',
  'prefer',
  'origin',
]);
const BETA = 'openai-beta';
const WEBSOCKET_BETA = /^responses_(?:websockets|multi_agent)=/;

function requestHeaders(handshake: IncomingHttpHeaders): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = {};
  for (const [name, value] of Object.entries(handshake))
    if (!OF_HANDSHAKE.has(name) && !name.startsWith('sec-websocket-')) headers[name] = value;
  const betas = String(handshake[BETA] ?? '')
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '' && !WEBSOCKET_BETA.test(beta));
  delete headers[BETA];
  if (betas.length > 0) headers[BETA] = betas.join(',');
  return { ...headers, 'content-type': 'application/json', accept: 'text/event-stream' };
}

const shuttingDown = (): GatewayError =>
  new GatewayError('shutting_down', {
    message: 'The gateway is shutting down. Please connect and send it again.',
    retryAfterSeconds: 1,
  });

const tooOld = (): GatewayError =>
  new GatewayError(
    'websocket_connection_limit_reached',
    'This WebSocket has reached its maximum age. Open another one and continue there.',
  );

const ENDING_ERRORS: Readonly<Record<keyof typeof CLOSE_CODES, () => GatewayError>> = {
  age: tooOld,
  idle: tooOld,
  key: keyEnded,
  restart: shuttingDown,
};

const endingError = (reason: keyof typeof CLOSE_CODES | null): GatewayError =>
  ENDING_ERRORS[reason ?? 'restart']();
