import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { WEBSOCKET } from '@gateway/contracts/endpoints/endpoints';
import { type EventFrame, eventBytesOf } from '@gateway/contracts/event-stream/event-frame';
import { ATTEMPTS_HEADER } from '@gateway/contracts/usage/usage-detail';
import { EventCaller } from '@gateway/model-service/event-caller';
import { errorResponse, toGatewayError, withoutRetry } from '@gateway/service-kit/error-response';
import type { RequestContext } from '@gateway/service-kit/request/request-context';
import type { Lane } from './client-event.ts';
import { errorEvent, errorWithStatus, laneMember, mayBeError } from './error-event.ts';

/** Where the events of a response go. */
export interface EventSink {
  /** Sends each as a message; what is sent together leaves together. */
  send(events: readonly (Buffer | string)[]): void;
  /** The caller has not taken what was sent. */
  readonly isFull: boolean;
}

interface SocketRequest {
  readonly headers: IncomingHttpHeaders;
  readonly context: RequestContext;
  readonly sink: EventSink;
  readonly lane: Lane;
}

const OPENING_BRACE = 0x7b;
const UPSTREAM_FAILED = 502;

/** A caller over a WebSocket: each event is one message, its data as it is. Any other answer is an error, and becomes an error event. */
export class SocketCaller extends EventCaller {
  readonly #request: SocketRequest;
  readonly #prefix: string;
  #hasSent = false;

  constructor(request: SocketRequest) {
    super(request.headers, WEBSOCKET.path);
    this.#request = request;
    const { stream_id: id } = laneMember(request.lane);
    this.#prefix = id === undefined ? '{' : `{"stream_id":"${id}",`;
  }

  get isFull(): boolean {
    return !this.isGone && this.#request.sink.isFull;
  }

  /** The connection stays, with the other responses on it. */
  override breakOff(): void {
    if (!this.isOver) this.#sendError(UPSTREAM_FAILED);
    this.leave();
  }

  /** Ends the answer with an error, also after it has begun. */
  fail(thrown: unknown): void {
    const { context } = this.#request;
    const error = toGatewayError(thrown);
    context.failure = context.mayBePaid === true ? withoutRetry(error) : error;
    if (this.hasBegun) {
      this.breakOff();
      return;
    }
    const { status, headers, body } = errorResponse(context.failure, context.dialect, context.requestId);
    this.begin(status, headers);
    this.#sendError(status, body);
    this.end();
  }

  protected takeOther(): void {
    this.#sendError(UPSTREAM_FAILED);
  }

  protected take(frames: readonly EventFrame[]): void {
    const { sink, context } = this.#request;
    const events: (Buffer | string)[] = [];
    for (const frame of frames) {
      const sent = eventBytesOf(frame);
      // The rest is `[DONE]`.
      if (sent === null || sent[0] !== OPENING_BRACE) continue;
      // Clients end a connection on which a message is no UTF-8.
      const data = isUtf8(sent) ? sent : Buffer.from(sent.toString());
      const text = typeof frame === 'string' ? frame : frame.latin1;
      const shown = mayBeError(text) ? errorWithStatus(data, () => context.failure) : data;
      const prefix = this.#takePrefix();
      events.push(prefix === '{' ? shown : Buffer.concat([Buffer.from(prefix), shown.subarray(1)]));
    }
    if (events.length > 0) sink.send(events);
  }

  /** What precedes the members of an event; the first one has the headers that its caller would miss. */
  #takePrefix(): string {
    if (this.#hasSent) return this.#prefix;
    this.#hasSent = true;
    const own = Object.entries(this.head).filter(isNews);
    if (own.length === 0) return this.#prefix;
    return `${this.#prefix}"headers":${JSON.stringify(Object.fromEntries(own))},`;
  }

  #sendError(status: number, body = ''): void {
    const { sink, lane } = this.#request;
    sink.send([errorEvent({ status, headers: this.head, body }, lane)]);
  }
}

/** How the gateway's own headers of a reply begin: what was left out, whether it is stored, what is left of a budget. */
const OWN_HEADER = 'x-gateway-';
const CHANNEL_HEADER = 'x-gateway-channel';

/** That the first channel that was asked has answered is none, as is the channel's name. Names have no comma in them. */
const isNews = ([name, value]: [string, unknown]): boolean =>
  name.startsWith(OWN_HEADER) &&
  name !== CHANNEL_HEADER &&
  (name !== ATTEMPTS_HEADER || String(value).includes(','));
