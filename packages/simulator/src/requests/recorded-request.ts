import type { IncomingMessage } from 'node:http';

/** One request as it arrived. Kept in `simulator.requests`, so that a test can check what the gateway sent. */
export class RecordedRequest {
  readonly method: string;
  /** Path and query as received. */
  readonly url: string;
  readonly path: string;
  /** Names in lower case; repeated headers joined as Node joins them. */
  readonly headers: IncomingMessage['headers'];
  /** Names and values alternating, in the order and spelling of the wire. */
  readonly rawHeaders: readonly string[];
  /** The whole body; empty until it has been received. */
  body: Buffer = Buffer.alloc(0);
  /** True once the client has left before the reply was complete. */
  aborted = false;
  /** Resolves when the reply has ended (`complete`) or the connection was lost or cut before that (`aborted`). */
  readonly closed: Promise<'complete' | 'aborted'>;
  /** Resolves when the body has been received, or can no longer be. */
  readonly received: Promise<void>;

  readonly #close: (how: 'complete' | 'aborted') => void;
  readonly #receive: () => void;

  constructor(message: Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'rawHeaders'>) {
    this.method = message.method ?? '';
    this.url = message.url ?? '';
    const queryStart = this.url.indexOf('?');
    this.path = queryStart < 0 ? this.url : this.url.slice(0, queryStart);
    this.headers = message.headers;
    this.rawHeaders = message.rawHeaders;
    const closed = Promise.withResolvers<'complete' | 'aborted'>();
    this.closed = closed.promise;
    this.#close = closed.resolve;
    const received = Promise.withResolvers<void>();
    this.received = received.promise;
    this.#receive = received.resolve;
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.url.slice(this.path.length));
  }

  text(): string {
    return this.body.toString('utf8');
  }

  json(): unknown {
    return JSON.parse(this.text());
  }

  /** The parts of a `multipart/form-data` body in their order: strings, and `File` objects with name and type. */
  async form(): Promise<FormData> {
    const headers = { 'content-type': this.headers['content-type'] ?? '' };
    return new Response(new Uint8Array(this.body), { headers }).formData();
  }

  markReceived(body: Buffer): void {
    this.body = body;
    this.#receive();
  }

  markClosed(how: 'complete' | 'aborted'): void {
    this.aborted = how === 'aborted';
    this.#receive();
    this.#close(how);
  }
}
