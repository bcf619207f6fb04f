import type { Socket } from 'node:net';
import type { ConnectionMemory } from '@gateway/model-service/sockets/socket-memory';
import type { WebSocket } from 'ws';
import type { Closing } from './session-end.ts';

/** What has been sent and is not taken, beyond which nothing more is read of the other side. */
export const MAX_BUFFERED_BYTES = 256 * 1024;
/** Less is not counted: most messages are small, and come in one piece. */
const MIN_COUNTED_BYTES = 64 * 1024;
/** A connection that does what it may not, and one that ended without a close frame. */
const [POLICY, ABNORMAL] = [1008, 1006];

interface CallerSocketOptions {
  readonly socket: Socket;
  readonly memory: ConnectionMemory;
  /** How long nothing may come in answer to pings, and a caller may take nothing. */
  readonly silenceMs: number;
  /** In milliseconds, on a monotonic clock. */
  readonly now: () => number;
  readonly onMessage: (data: Buffer, isBinary: boolean) => void;
  /** The caller has taken everything. */
  readonly onDrain: () => void;
  /** What it holds is more than its key or the process may hold. */
  readonly onFlood: () => void;
  /** Called once. @param isLost it ended without a close frame */
  readonly onClose: (isLost: boolean) => void;
}

/** The caller's end of a session: what it sends and has not taken is bounded. */
export class CallerSocket {
  readonly #webSocket: WebSocket;
  readonly #options: CallerSocketOptions;
  #arrivingBytes = 0;
  #unsentBytes = 0;
  #seenAtMs: number;
  #fullSinceMs: number | null = null;
  #isPaused = false;

  constructor(webSocket: WebSocket, options: CallerSocketOptions) {
    const { socket, memory, now, onMessage, onDrain, onClose } = options;
    this.#webSocket = webSocket;
    this.#options = options;
    this.#seenAtMs = now();
    webSocket.on('message', (data, isBinary) => {
      this.#see();
      this.#hold('arriving', 0);
      this.#arrivingBytes = 0;
      onMessage(Buffer.isBuffer(data) ? data : Buffer.alloc(0), isBinary);
    });
    webSocket.on('pong', () => this.#see());
    // Each ping is answered, whether or not its client reads.
    webSocket.on('ping', () => {
      this.#see();
      if (webSocket.bufferedAmount > 2 * MAX_BUFFERED_BYTES) options.onFlood();
    });
    webSocket.on('error', () => undefined);
    // Before `ws` takes the bytes, and tells of the messages that they complete.
    socket.prependListener('data', ({ length }: Buffer) => {
      this.#arrivingBytes += length;
      if (this.#arrivingBytes > MIN_COUNTED_BYTES) this.#hold('arriving', this.#arrivingBytes);
    });
    socket.on('drain', () => {
      this.#see();
      this.#fullSinceMs = null;
      this.#hold('untaken', 0);
      onDrain();
    });
    webSocket.once('close', (code) => {
      memory.end();
      onClose(code === ABNORMAL);
    });
  }

  get isOpen(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN;
  }

  get isFull(): boolean {
    return this.#webSocket.bufferedAmount > MAX_BUFFERED_BYTES;
  }

  send(event: Buffer | string): void {
    if (!this.isOpen) return;
    this.#webSocket.send(event, { binary: false });
    if (!this.isFull) return;
    this.#fullSinceMs ??= this.#options.now();
    this.#hold('untaken', this.#webSocket.bufferedAmount);
  }

  /** Nothing more is read of it until `resume`. */
  pause(): void {
    this.#isPaused = true;
    this.#webSocket.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#see();
    this.#webSocket.resume();
  }

  /** Counts what it has sent and its provider has not taken. */
  holdUnsent(bytes: number): void {
    if (bytes === this.#unsentBytes) return;
    this.#unsentBytes = bytes;
    this.#hold('waiting', bytes);
  }

  /** To be called every few seconds: sends a ping. Why its caller counts as gone; null: it does not. */
  check(): 'silent' | 'slow' | null {
    const { now, silenceMs } = this.#options;
    // What it sends meanwhile is not read.
    if (this.#isPaused) this.#see();
    if (this.#fullSinceMs !== null && now() - this.#fullSinceMs >= silenceMs) return 'slow';
    if (now() - this.#seenAtMs >= silenceMs) return 'silent';
    if (this.isOpen && !this.isFull) this.#webSocket.ping();
    return null;
  }

  /** To be called when nothing that it sends matters any more. */
  close({ code, reason }: Closing): void {
    this.resume();
    this.#webSocket.close(code, reason);
    // An edge that stops has half-closed it: nothing can come any more in answer to the close frame.
    if (this.#options.socket.readableEnded) this.#options.socket.end();
  }

  terminate(): void {
    // A connection without a close frame counts as broken, at the edge too.
    this.#webSocket.close(POLICY);
    this.#webSocket.terminate();
  }

  #see(): void {
    this.#seenAtMs = this.#options.now();
  }

  #hold(kind: 'arriving' | 'untaken' | 'waiting', bytes: number): void {
    try {
      this.#options.memory.hold(kind, bytes);
    } catch {
      this.#options.onFlood();
    }
  }
}
