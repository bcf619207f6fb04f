import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { type Coding, codingsOf, gzip, isGzip, Unpacking } from './unpacking.ts';

/** JSON, events and pages: none of them begins like gzip. */
const TEXT = /^\s*(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|x-ndjson|xml)\b)/i;
const EVENT_STREAM = /^\s*text\/event-stream\b/i;

/**
 * Stands between undici and the handler of a request: interim answers (RFC 9110, 15.2) are left out, and a compressed reply
 * arrives unpacked, without `content-encoding` and the length that it had. A reply that is not compressed passes as it is.
 */
export class FinalReply implements Dispatcher.DispatchHandler, Dispatcher.DispatchController {
  readonly #handler: Dispatcher.DispatchHandler;
  #connection: Dispatcher.DispatchController | null = null;
  #headers: IncomingHttpHeaders = {};
  #unpacking: Unpacking | null = null;
  /** Until the reply's first bytes have shown whether it is compressed without saying so. */
  #isUnseen = true;
  #hasArrived = false;
  #isOver = false;

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#connection = controller;
    this.#handler.onRequestStart?.(this, context);
  }

  onBodySent(chunk: Buffer): void {
    this.#handler.onBodySent?.(chunk);
  }

  onRequestSent(): void {
    this.#handler.onRequestSent?.();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    if (status === 101) controller.abort(new UnexpectedUpgradeError());
    if (status < 200) return;
    this.#headers = headers;
    const declared = headers['content-encoding'];
    if (declared !== undefined) this.#unpackDeclared(declared);
    this.#handler.onResponseStart?.(this, status, headers, statusMessage);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isUnseen) this.#see(chunk);
    if (this.#unpacking === null) this.#handler.onResponseData?.(this, chunk);
    else this.#unpacking.push(chunk);
  }

  onResponseEnd(_: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    this.#hasArrived = true;
    if (this.#unpacking === null) this.#end(trailers);
    else this.#unpacking.end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unpacking?.destroy();
    this.#handler.onResponseError?.(this, error);
  }

  get aborted(): boolean {
    return this.#connection?.aborted ?? false;
  }

  get paused(): boolean {
    return this.#connection?.paused ?? false;
  }

  get reason(): Error | null {
    return this.#connection?.reason ?? null;
  }

  get rawHeaders(): NonNullable<Dispatcher.DispatchController['rawHeaders']> | null {
    return this.#connection?.rawHeaders ?? null;
  }

  abort(reason: Error): void {
    if (this.#hasArrived) this.onResponseError(this, reason);
    else this.#connection?.abort(reason);
  }

  pause(): void {
    (this.#unpacking ?? this.#connection)?.pause();
  }

  resume(): void {
    (this.#unpacking ?? this.#connection)?.resume();
  }

  #unpackDeclared(header: string | readonly string[]): void {
    const codings = codingsOf(header);
    delete this.#headers['content-encoding'];
    if (codings.length === 0) return;
    this.#isUnseen = false;
    this.#unpack(this.#isText ? [gzip, ...codings] : codings);
  }

  /** Some servers compress and do not say so. */
  #see(chunk: Buffer): void {
    this.#isUnseen = false;
    if (isGzip(chunk) && this.#isText) this.#unpack([gzip]);
  }

  #unpack(codings: readonly Coding[]): void {
    delete this.#headers['content-length'];
    this.#unpacking = new Unpacking({
      codings,
      mayBeCut: EVENT_STREAM.test(this.#headers['content-type'] ?? ''),
      source: {
        pause: () => this.#connection?.pause(),
        resume: () => this.#connection?.resume(),
      },
      sink: {
        push: (chunk) => this.#handler.onResponseData?.(this, chunk),
        end: () => this.#end({}),
        fail: (error) => this.abort(error),
      },
    });
  }

  #end(trailers: IncomingHttpHeaders): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.onResponseEnd?.(this, trailers);
  }

  get #isText(): boolean {
    return TEXT.test(this.#headers['content-type'] ?? '');
  }
}

/** For the dispatchers of requests that go elsewhere than to a channel. */
export const finalReplies: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) =>
  dispatch(options, new FinalReply(handler));

/** The server changes to a protocol that was not requested: nothing else will come. */
class UnexpectedUpgradeError extends Error {
  override readonly name = 'UnexpectedUpgradeError';
  readonly code = 'UND_ERR_RES_UPGRADE';
  constructor() {
    super('the server switched to another protocol (101)');
  }
}
