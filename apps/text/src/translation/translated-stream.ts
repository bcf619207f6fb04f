import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { CallerLeft, type RequestContext } from '@gateway/service-kit/request-context';
import type { Reply } from '@gateway/upstream/reply';
import { shuttingDown } from '../shutting-down.ts';

type PausedContent = readonly { readonly [member: string]: unknown }[];

/** A stream on its way from one protocol to another; `StreamTranslator` is one. */
export interface Translator {
  push(bytes: Uint8Array): readonly string[];
  end(): readonly string[];
  fail(error: GatewayError): readonly string[];
  /** What the upstream said before it paused, where it did; `resume` takes up the stream in which it goes on. */
  readonly pausedContent: PausedContent | null;
  resume(): void;
  readonly started: boolean;
  readonly ended: boolean;
  readonly failure: GatewayError | null;
}

interface RelayTranslatedOptions {
  readonly reply: Reply;
  readonly response: ServerResponse;
  readonly context: RequestContext;
  readonly translator: Translator;
  readonly head: OutgoingHttpHeaders;
  /** A frame that says nothing, and the silence after which it is sent; 0 for never. */
  readonly keepAlive: { readonly frame: string; readonly afterMs: number };
  /** Asks the upstream to go on after a pause. */
  readonly goOn: (content: PausedContent) => Promise<Reply>;
  /** Whether the upstream has to be told to stop when the caller's answer is over. */
  readonly isCut: () => boolean;
  readonly onFirstByte: () => void;
}

/**
 * Writes a translated event stream as it comes, each frame with one write. Where the upstream breaks after the first
 * frame, the caller gets its protocol's error event and `context.failure` says why.
 *
 * @throws {GatewayError} where it breaks before the first frame; nothing has been sent then
 */
export function relayTranslated(options: RelayTranslatedOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    new TranslatedRelay(options, resolve, reject).begin();
  });
}

class TranslatedRelay {
  readonly #options: RelayTranslatedOptions;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  #reply: Reply;
  #over = false;
  #lastWriteAt = 0;
  #keepAlive: NodeJS.Timeout | undefined;

  constructor(options: RelayTranslatedOptions, resolve: () => void, reject: (error: unknown) => void) {
    this.#options = options;
    this.#reply = options.reply;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(): void {
    const { response, context, keepAlive } = this.#options;
    response.on('drain', this.#onDrain);
    context.signal.addEventListener('abort', this.#onAbort);
    if (keepAlive.afterMs > 0) this.#keepAlive = setInterval(this.#breakSilence, keepAlive.afterMs);
    this.#consume();
  }

  #consume(): void {
    const { translator } = this.#options;
    this.#reply.consume({
      onChunk: (chunk) => this.#take(() => translator.push(chunk)),
      onEnd: () => this.#onEnd(),
      onError: (error) => this.#onError(error),
    });
  }

  #onEnd(): void {
    const { translator, goOn } = this.#options;
    const paused = this.#over ? null : translator.pausedContent;
    if (paused === null) {
      this.#take(() => translator.end());
      return;
    }
    goOn(paused).then(
      (reply) => {
        if (this.#over) {
          reply.cancel();
          return;
        }
        translator.resume();
        this.#reply = reply;
        this.#consume();
      },
      (error: unknown) => this.#onError(toGatewayError(error)),
    );
  }

  #onError(error: GatewayError): void {
    const { translator, context } = this.#options;
    const told = context.signal.aborted ? shuttingDown() : error;
    this.#take(() => translator.fail(told));
  }

  /** False asks the upstream to pause. After the caller's last frame the rest of the upstream's stream is only read off. */
  #take(translate: () => readonly string[]): boolean {
    if (this.#over) return true;
    const { translator } = this.#options;
    try {
      const goesOn = this.#write(translate());
      if (!translator.ended) return goesOn;
      this.#finish();
    } catch (error) {
      this.#stop();
      this.#reply.cancel();
      this.#reject(error);
    }
    return true;
  }

  #write(frames: readonly string[]): boolean {
    const { response, head, onFirstByte } = this.#options;
    // The caller has left, and the rest is read only to learn how it ends.
    if (frames.length === 0 || response.destroyed) return true;
    if (!response.headersSent) {
      response.writeHead(200, head);
      onFirstByte();
    }
    this.#lastWriteAt = performance.now();
    let goesOn = true;
    response.cork();
    for (const frame of frames) goesOn = response.write(frame);
    response.uncork();
    return goesOn;
  }

  #finish(): void {
    const { translator, response, context, isCut } = this.#options;
    const { failure } = translator;
    this.#stop();
    if (failure !== null || isCut()) this.#reply.cancel();
    if (response.destroyed || context.signal.reason instanceof CallerLeft) this.#resolve();
    else if (failure !== null && !response.headersSent) this.#reject(failure);
    else {
      if (failure !== null) context.failure = failure;
      response.end();
      this.#resolve();
    }
  }

  readonly #onDrain = (): void => this.#reply.resume();

  /** A caller who leaves is the exchange's affair; the drain deadline ends the reply from here. */
  readonly #onAbort = (): void => {
    const { context, translator } = this.#options;
    if (context.signal.reason instanceof CallerLeft) return;
    this.#take(() => translator.fail(shuttingDown()));
  };

  readonly #breakSilence = (): void => {
    const { response, keepAlive } = this.#options;
    if (!response.headersSent || response.writableNeedDrain) return;
    if (performance.now() - this.#lastWriteAt >= keepAlive.afterMs) this.#write([keepAlive.frame]);
  };

  #stop(): void {
    const { response, context } = this.#options;
    this.#over = true;
    clearInterval(this.#keepAlive);
    response.off('drain', this.#onDrain);
    context.signal.removeEventListener('abort', this.#onAbort);
  }
}
