import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { CallerLeft, type RequestContext } from '@gateway/service-kit/request-context';
import type { Reply } from '@gateway/upstream/reply';
import { shuttingDown } from '../shutting-down.ts';

/** A stream on its way from one protocol to another; `StreamTranslator` is one. */
export interface Translator {
  push(bytes: Uint8Array): readonly string[];
  end(): readonly string[];
  fail(error: GatewayError): readonly string[];
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
  #over = false;
  #lastWriteAt = 0;
  #keepAlive: NodeJS.Timeout | undefined;

  constructor(options: RelayTranslatedOptions, resolve: () => void, reject: (error: unknown) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(): void {
    const { reply, response, context, keepAlive, translator } = this.#options;
    response.on('drain', this.#onDrain);
    context.signal.addEventListener('abort', this.#onAbort);
    if (keepAlive.afterMs > 0) this.#keepAlive = setInterval(this.#breakSilence, keepAlive.afterMs);
    reply.consume({
      onChunk: (chunk) => this.#take(() => translator.push(chunk)),
      onEnd: () => {
        this.#take(() => translator.end());
      },
      onError: (error) => {
        const told = context.signal.aborted ? shuttingDown() : error;
        this.#take(() => translator.fail(told));
      },
    });
  }

  /** False asks the upstream to pause. After the caller's last frame the rest of the upstream's stream is only read off. */
  #take(translate: () => readonly string[]): boolean {
    if (this.#over) return true;
    const { translator, reply } = this.#options;
    try {
      const goesOn = this.#write(translate());
      if (!translator.ended) return goesOn;
      this.#finish();
    } catch (error) {
      this.#stop();
      reply.cancel();
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
    const { translator, response, reply, context, isCut } = this.#options;
    const { failure } = translator;
    this.#stop();
    if (failure !== null || isCut()) reply.cancel();
    if (response.destroyed || context.signal.reason instanceof CallerLeft) this.#resolve();
    else if (failure !== null && !response.headersSent) this.#reject(failure);
    else {
      if (failure !== null) context.failure = failure;
      response.end();
      this.#resolve();
    }
  }

  readonly #onDrain = (): void => this.#options.reply.resume();

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
