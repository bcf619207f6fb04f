import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Authorization, CredentialSource, FinalRequest } from '../credentials/credential-source.ts';
import type { ChannelClient } from './channel-client.ts';
import type { Exchange } from './exchange.ts';

interface AuthorizedRequestOptions {
  readonly request: FinalRequest;
  /** The body from its beginning. */
  readonly open: () => Buffer | string | Readable | null;
  readonly method: Dispatcher.HttpMethod;
  readonly credentials: CredentialSource;
  readonly client: Pick<ChannelClient, 'dispatch'>;
  readonly exchange: Exchange;
}

/** An answer that may refuse expired credentials: it waits until it is known whether others are worth trying. */
interface HeldAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly chunks: Buffer[];
  sizeBytes: number;
}

const MAX_HELD_BYTES = 65_536;

/**
 * Sends the request of an exchange with credentials of a source: authorized when its bytes are final, and once more with new
 * credentials where the provider says that these have expired. For the exchange both are one attempt.
 */
export class AuthorizedRequest implements Dispatcher.DispatchHandler {
  readonly #options: AuthorizedRequestOptions;
  readonly #exchange: Exchange;
  #authorization: Authorization | null = null;
  #held: HeldAnswer | null = null;

  constructor(options: AuthorizedRequestOptions) {
    this.#options = options;
    this.#exchange = options.exchange;
  }

  /** Sends at once where the source has valid credentials. Failures go to the exchange. */
  async send(): Promise<void> {
    try {
      const authorization = await this.#authorize();
      if (authorization === null || this.#exchange.isOver) return;
      const isFirst = this.#authorization === null;
      this.#authorization = authorization;
      const { request, method, open, client } = this.#options;
      const headers = [...request.headers, ...authorization.headers];
      const sent = { path: request.path, method, headers, body: open() };
      client.dispatch(sent, isFirst ? this : this.#exchange);
    } catch (error) {
      this.#exchange.abandon(error);
    }
  }

  /** Null: the source has none, and the exchange has failed. */
  async #authorize(): Promise<Authorization | null> {
    const { credentials, request } = this.#options;
    try {
      return await credentials.authorize(request);
    } catch (error) {
      this.#exchange.unauthorized(error);
      return null;
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#exchange.onRequestStart(controller);
  }

  onBodySent(): void {
    this.#exchange.onBodySent();
  }

  onRequestSent(): void {
    this.#exchange.onRequestSent();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (this.#options.credentials.mayHaveExpired(status))
      this.#held = { status, headers, chunks: [], sizeBytes: 0 };
    else this.#exchange.onResponseStart(controller, status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const held = this.#held;
    if (held === null) {
      this.#exchange.onResponseData(controller, chunk);
      return;
    }
    held.chunks.push(chunk);
    held.sizeBytes += chunk.length;
    if (held.sizeBytes > MAX_HELD_BYTES) this.#release(controller, held);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#held === null) this.#exchange.onResponseEnd();
    else void this.#renew(controller, this.#held);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#held !== null) this.#release(controller, this.#held);
    this.#exchange.onResponseError(controller, error);
  }

  async #renew(controller: Dispatcher.DispatchController, held: HeldAnswer): Promise<void> {
    const { credentials } = this.#options;
    const { status, headers, chunks } = held;
    const refusal = { status, headers, body: Buffer.concat(chunks).toString() };
    const used = this.#authorization;
    if (used !== null && (await credentials.renew(refusal, used))) {
      await this.send();
      return;
    }
    this.#release(controller, held);
    this.#exchange.onResponseEnd();
  }

  /** The exchange gets what was held. */
  #release(controller: Dispatcher.DispatchController, { status, headers, chunks }: HeldAnswer): void {
    this.#held = null;
    this.#exchange.onResponseStart(controller, status, headers);
    for (const chunk of chunks) this.#exchange.onResponseData(controller, chunk);
  }
}
