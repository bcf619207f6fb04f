import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { EdgeContext } from '../request/edge-context.ts';
import type { ServiceConnection, ServiceSending } from '../services/service-connections.ts';
import type { ServiceAddress } from '../services/service-pool.ts';
import { responseHeaders } from './response-headers.ts';

interface Exchanged {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly context: Pick<EdgeContext, 'requestId'>;
}

interface ExchangeOptions {
  readonly connection: ServiceConnection;
  /** The reply begins. */
  readonly onReply: () => void;
  /** The reply has ended, perhaps before the request. */
  readonly onEnd: () => void;
  /** The address, the connection or its service was lost; `stage` says when. */
  readonly onLost: (error: Error) => void;
}

/** One sending of a request to one address: undici's handler, from the dispatch to the last byte of the reply. */
export class ServiceExchange implements Dispatcher.DispatchHandler {
  readonly address: ServiceAddress;
  readonly #exchanged: Exchanged;
  readonly #options: ExchangeOptions;
  #controller: Dispatcher.DispatchController | undefined;
  #aborted = false;
  /** Until the connection stands, until the reply begins, and after that. Nothing was sent before the second. */
  stage: 'connecting' | 'sent' | 'replied' = 'connecting';
  /** Whether the connection carried another request before this one: the service may have closed it in the same moment. */
  reusedConnection = false;

  constructor(exchanged: Exchanged, address: ServiceAddress, options: ExchangeOptions) {
    this.#exchanged = exchanged;
    this.address = address;
    this.#options = options;
  }

  send(sending: ServiceSending): void {
    this.#options.connection.dispatch(sending, this);
  }

  /** Aborts the exchange, and with it the request to the service. */
  abort(): void {
    this.#aborted = true;
    this.#controller?.abort(new Error('the exchange is over'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.reusedConnection = this.#options.connection.begin();
    this.stage = 'sent';
    if (this.#aborted || this.#exchanged.request.socket.destroyed) this.abort();
  }

  onResponseStart(
    { rawHeaders }: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    reason?: string,
  ): void {
    if (status < 200) return;
    this.stage = 'replied';
    this.#options.onReply();
    const { response, context } = this.#exchanged;
    response.writeHead(status, reason, responseHeaders(textOf(rawHeaders), response, context.requestId));
    // A reply of unknown length may be a stream whose first event is yet to come.
    if (headers['content-length'] === undefined) response.flushHeaders();
  }

  /** Passes the reply on, chunk by chunk as it comes, at the caller's pace. */
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { response } = this.#exchanged;
    if (response.write(chunk)) return;
    controller.pause();
    response.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    this.#options.connection.release('kept');
    this.#exchanged.response.end();
    this.#options.onEnd();
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#options.connection.release('failed');
    this.#options.onLost(error);
  }
}

/** Names and values in turn. Like Node's own parser: each byte is a character. */
function textOf(rawHeaders: Dispatcher.DispatchController['rawHeaders']): string[] {
  if (!Array.isArray(rawHeaders)) return [];
  return rawHeaders.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));
}
