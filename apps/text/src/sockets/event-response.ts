import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { createFrameReader, type Frame } from '@gateway/contracts/event-stream/frame-reader';
import { ATTEMPTS_HEADER } from '@gateway/contracts/usage/usage-detail';
import { http } from '@gateway/service-kit/node-http';
import { findContext } from '@gateway/service-kit/request/request-context';
import type { Lane } from './client-event.ts';
import { errorEvent, errorWithStatus, laneMember, mayBeError } from './error-event.ts';

/** Where the events of a response go. */
export interface EventSink {
  /** Sends each as a message; what is sent together leaves together. */
  send(events: readonly (Buffer | string)[]): void;
  /** The caller has not taken what was sent. */
  readonly isFull: boolean;
}

const OPENING_BRACE = 0x7b;

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/** A frame may hold a whole image. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/**
 * A response over HTTP as events of a WebSocket: what answers a caller over HTTP answers this one too. Of an event stream
 * each frame becomes one message, its data as it is; any other reply is an error, and becomes an error event.
 */
export class EventResponse extends http.ServerResponse {
  readonly #sink: EventSink;
  readonly #lane: Lane;
  readonly #prefix: string;
  readonly #frames = createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });
  readonly #body: Buffer[] = [];
  #hasBegun = false;
  #isStream = false;
  #hasSent = false;

  static {
    // What Node computes from a connection, which this response does not have.
    Object.defineProperties(EventResponse.prototype, {
      headersSent: {
        get(this: EventResponse) {
          return this.#hasBegun;
        },
      },
      writableFinished: {
        get(this: EventResponse) {
          return this.writableEnded;
        },
      },
      writableNeedDrain: {
        get(this: EventResponse) {
          return !this.destroyed && this.#sink.isFull;
        },
      },
    });
  }

  constructor(incoming: IncomingMessage, sink: EventSink, lane: Lane) {
    super(incoming);
    this.#sink = sink;
    this.#lane = lane;
    const { stream_id: id } = laneMember(lane);
    this.#prefix = id === undefined ? '{' : `{"stream_id":"${id}",`;
  }

  override writeHead(status: number, ...rest: readonly (string | Headers | undefined)[]): this {
    const headers = rest.find((one) => typeof one === 'object') ?? {};
    this.statusCode = status;
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) this.setHeader(name, value);
    this.#begin();
    return this;
  }

  override write(chunk: Buffer | string): boolean {
    if (this.destroyed || this.writableEnded) return true;
    this.#begin();
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (!this.#isStream) {
      this.#body.push(bytes);
      return true;
    }
    this.#sendEvents(this.#frames.push(bytes));
    return !this.#sink.isFull;
  }

  override end(chunk?: unknown): this {
    if (this.destroyed || this.writableEnded) return this;
    if (typeof chunk === 'string' || Buffer.isBuffer(chunk)) this.write(chunk);
    this.#begin();
    this.finished = true;
    if (this.#isStream) {
      const last = this.#frames.end();
      if (last !== null) this.#sendEvents([last]);
    } else this.#sendError();
    this.emit('finish');
    this.emit('close');
    return this;
  }

  /** The reply cannot be ended well: the caller's connection stays, with the other responses on it. */
  override destroy(): this {
    if (this.destroyed || this.writableEnded) return this;
    this.#sendError();
    return this.leave();
  }

  /** The caller is gone. */
  leave(): this {
    if (this.destroyed || this.writableEnded) return this;
    this.destroyed = true;
    this.emit('close');
    return this;
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#isStream = String(this.getHeader('content-type') ?? '').startsWith('text/event-stream');
  }

  #sendEvents(frames: readonly Frame[]): void {
    const events: (Buffer | string)[] = [];
    for (const frame of frames) {
      const sent = frame.dataBytes;
      // The rest is `[DONE]`.
      if (sent === null || sent[0] !== OPENING_BRACE) continue;
      // Clients end a connection on which a message is no UTF-8.
      const data = isUtf8(sent) ? sent : Buffer.from(sent.toString());
      const shown = mayBeError(frame.latin1)
        ? errorWithStatus(data, () => findContext(this.req)?.failure)
        : data;
      const prefix = this.#takePrefix();
      events.push(prefix === '{' ? shown : Buffer.concat([Buffer.from(prefix), shown.subarray(1)]));
    }
    if (events.length > 0) this.#sink.send(events);
  }

  /** What precedes the members of an event; the first one has the headers that its caller would miss. */
  #takePrefix(): string {
    if (this.#hasSent) return this.#prefix;
    this.#hasSent = true;
    const headers = ownHeaders(this);
    return headers === null ? this.#prefix : `${this.#prefix}"headers":${JSON.stringify(headers)},`;
  }

  #sendError(): void {
    const isError = !this.#isStream && this.statusCode >= 400;
    const status = isError ? this.statusCode : 502;
    const body = isError ? Buffer.concat(this.#body).toString() : '';
    this.#sink.send([errorEvent({ status, headers: this.getHeaders(), body }, this.#lane)]);
  }
}

/** How the gateway's own headers of a reply begin: what was left out, whether it is stored, what is left of a budget. */
const OWN_HEADER = 'x-gateway-';
const CHANNEL_HEADER = 'x-gateway-channel';

/** The first channel that was asked has answered: as the channel's name, that is no news. Names have no comma in them. */
const isOrdinary = (name: string, value: unknown): boolean =>
  name === CHANNEL_HEADER || (name === ATTEMPTS_HEADER && !String(value).includes(','));

function ownHeaders(response: ServerResponse): OutgoingHttpHeaders | null {
  const own: OutgoingHttpHeaders = {};
  let isEmpty = true;
  for (const name of response.getHeaderNames()) {
    if (!name.startsWith(OWN_HEADER)) continue;
    const value = response.getHeader(name);
    if (isOrdinary(name, value)) continue;
    own[name] = value;
    isEmpty = false;
  }
  return isEmpty ? null : own;
}
