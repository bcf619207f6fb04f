import type { ServerResponse } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { createFrameReader, type FrameListener } from '@gateway/service-kit/event-stream/frame-reader';
import { CallerLeft, type RequestContext } from '@gateway/service-kit/request-context';
import type { Reply } from '@gateway/upstream/reply';
import { shuttingDown } from '../shutting-down.ts';
import type { StreamWatch } from '../sse/stream-watch.ts';
import { replyHeaders } from './reply-headers.ts';

/** A frame may hold a whole image; beyond this the upstream has lost its mind. */
const MAX_FRAME_BYTES = 32 * 1024 * 1024;

interface RelayStreamOptions {
  readonly reply: Reply;
  readonly response: ServerResponse;
  readonly context: RequestContext;
  readonly watch: StreamWatch;
  /** Silence after which a frame that says nothing is sent; 0 for never. */
  readonly keepAliveMs: number;
  /** Told of the provider's id before the caller learns it; the stream waits for what this returns. */
  readonly onId: (id: string) => Promise<unknown> | undefined;
  /** Told when the first bytes go out. */
  readonly onFirstByte: () => void;
}

/**
 * Passes an event stream on as it comes, its bytes untouched, in whole frames only. Where it breaks after its first
 * frame, the caller gets the protocol's error event and `context.failure` says why.
 *
 * @throws {GatewayError} where it breaks before its first frame; nothing has been sent then
 */
export function relayStream(options: RelayStreamOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    new StreamRelay(options, resolve, reject).begin();
  });
}

class StreamRelay {
  readonly #options: RelayStreamOptions;
  readonly #resolve: () => void;
  readonly #reject: (error: GatewayError) => void;
  readonly #reader = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });
  readonly #onFrame: FrameListener;
  #over = false;
  #knowsId = false;
  #lastWriteAt = 0;
  #keepAlive: NodeJS.Timeout | undefined;

  constructor(options: RelayStreamOptions, resolve: () => void, reject: (error: GatewayError) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    const { watch } = options;
    this.#onFrame = (data) => {
      if (data !== null) watch.event(data);
    };
  }

  begin(): void {
    const { reply, response, context, keepAliveMs } = this.#options;
    response.on('drain', this.#onDrain);
    context.signal.addEventListener('abort', this.#onAbort);
    if (keepAliveMs > 0) this.#keepAlive = setInterval(this.#breakSilence, keepAliveMs);
    reply.consume({
      onChunk: (chunk) => this.#onChunk(chunk),
      onEnd: () => this.#onEnd(),
      onError: (error) => this.#breakOff(error),
    });
  }

  #onChunk(chunk: Buffer): boolean {
    if (this.#over) return true;
    let frames: Buffer | null;
    try {
      frames = this.#reader.push(chunk, this.#onFrame);
    } catch (cause) {
      this.#refuse(cause);
      return true;
    }
    return frames === null || this.#pass(frames);
  }

  /** False asks the upstream to pause. */
  #pass(frames: Buffer): boolean {
    const { reply, watch, onId } = this.#options;
    if (this.#knowsId || watch.id === null) return this.#write(frames);
    this.#knowsId = true;
    const pending = onId(watch.id);
    if (pending === undefined) return this.#write(frames);
    void pending.then(() => {
      if (!this.#over && this.#write(frames)) reply.resume();
    });
    return false;
  }

  #write(bytes: Buffer | string): boolean {
    const { reply, response, context, onFirstByte } = this.#options;
    // The caller has left, and the rest is read only to learn how it ends.
    if (response.destroyed) return true;
    if (!response.headersSent) {
      const headers = replyHeaders(reply, context);
      headers['cache-control'] = 'no-cache';
      headers['x-accel-buffering'] = 'no';
      response.writeHead(reply.status, headers);
      onFirstByte();
    }
    this.#lastWriteAt = performance.now();
    return response.write(bytes);
  }

  /** Frames before the one that is no frame of this protocol still pass. */
  #refuse(cause: unknown): void {
    const { reply } = this.#options;
    const { accepted } = this.#reader;
    if (accepted !== null) this.#write(accepted);
    this.#breakOff(
      new GatewayError('upstream_failed', {
        message: 'The upstream sent an event that cannot be read.',
        source: 'upstream',
        cause,
      }),
    );
    reply.cancel();
  }

  #onEnd(): void {
    if (this.#over) return;
    const { watch, response } = this.#options;
    const rest = this.#reader.rest();
    if (rest.length > 0) {
      // A last frame without its empty line counts, as it does for every client.
      try {
        this.#reader.push(Buffer.from('\n\n'), this.#onFrame);
      } catch (cause) {
        this.#refuse(cause);
        return;
      }
      if (watch.ended) this.#write(rest);
    }
    if (!watch.mayEnd) {
      this.#breakOff(
        new GatewayError('upstream_failed', {
          message: 'The upstream ended its stream before the end of the answer.',
          source: 'upstream',
        }),
      );
      return;
    }
    this.#stop();
    response.end();
    this.#resolve();
  }

  #breakOff(error: GatewayError): void {
    if (this.#over) return;
    const { response, watch, context } = this.#options;
    this.#stop();
    const { reason } = context.signal;
    if (response.destroyed || reason instanceof CallerLeft) {
      this.#resolve();
    } else if (watch.ended) {
      // All of it had come.
      response.end();
      this.#resolve();
    } else {
      const told = context.signal.aborted ? shuttingDown() : error;
      if (!response.headersSent) {
        this.#reject(told);
        return;
      }
      context.failure = told;
      response.end(watch.breakOff(told, context.requestId));
      this.#resolve();
    }
  }

  readonly #onDrain = (): void => this.#options.reply.resume();

  /** A caller who leaves is the exchange's affair; the drain deadline ends the reply from here. */
  readonly #onAbort = (): void => {
    const { reply, context } = this.#options;
    if (context.signal.reason instanceof CallerLeft) return;
    this.#breakOff(shuttingDown());
    reply.cancel();
  };

  readonly #breakSilence = (): void => {
    const { response, watch, keepAliveMs } = this.#options;
    if (!response.headersSent || response.writableNeedDrain) return;
    if (performance.now() - this.#lastWriteAt < keepAliveMs) return;
    const frame = watch.keepAlive();
    if (frame !== null) this.#write(frame);
  };

  #stop(): void {
    const { response, context } = this.#options;
    this.#over = true;
    clearInterval(this.#keepAlive);
    response.off('drain', this.#onDrain);
    context.signal.removeEventListener('abort', this.#onAbort);
  }
}
