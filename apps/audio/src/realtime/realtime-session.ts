import { GatewayError } from '@gateway/contracts/gateway-error';
import { isObject, type JsonObject } from '@gateway/contracts/json/json-object';
import { lookUp } from '@gateway/contracts/look-up';
import type { UsageOutcome } from '@gateway/contracts/usage/usage-record';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { parseJson } from '@gateway/service-kit/request/json-body';
import type { UpstreamSocket } from '@gateway/upstream/sockets/open-socket';
import type { Upstream } from '@gateway/upstream/upstream';
import { type CallerSocket, MAX_BUFFERED_BYTES } from './caller-socket.ts';
import { errorEvent } from './error-event.ts';
import { InOrder } from './in-order.ts';
import { createProviderEvents } from './provider-events.ts';
import { type EventOutline, readEvent } from './read-event.ts';
import type { CloseReason } from './realtime-metrics.ts';
import type { ResponseAccounts } from './response-accounts.ts';
import {
  CLOSE_CODES,
  cancelEvent,
  ENDING,
  type EndReason,
  providerClosed,
  shuttingDown,
} from './session-end.ts';
import type { SessionFacts } from './session-facts.ts';
import { SessionResponses } from './session-responses.ts';
import { checkSettings } from './session-settings.ts';
import { SessionTranscripts } from './session-transcripts.ts';

interface SessionOptions {
  readonly caller: CallerSocket;
  readonly socket: UpstreamSocket;
  readonly accounts: ResponseAccounts;
  readonly facts: SessionFacts;
  readonly upstream: Pick<Upstream, 'resolveModel'>;
  /** By the caller's name. */
  readonly modelName: string;
  /** The settings that a client secret came with; null: none. */
  readonly settings: JsonObject | null;
  readonly maxJsonDepth: number;
  /** How long a provider may take to report what a response used that was broken off. */
  readonly settleMs: number;
  /** Called once, when everything is settled. */
  readonly onOver: (reason: CloseReason) => void;
}

/**
 * One session: messages pass in both directions as they are, no faster than the other side takes them. Only the events are read that
 * cost money or that the key may not send.
 */
export class RealtimeSession {
  readonly #options: SessionOptions;
  readonly #responses: SessionResponses;
  readonly #incoming: InOrder;
  readonly #transcripts: SessionTranscripts;
  readonly #fromProvider: ReturnType<typeof createProviderEvents>;
  #isStopping = false;
  #isProvidersFault = false;
  #ending: CloseReason | null = null;
  #settleTimer: NodeJS.Timeout | null = null;
  #isOver = false;
  bytesIn = 0;
  bytesOut = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { accounts, facts, socket, caller } = options;
    const onIdle = () => this.#onIdle();
    this.#transcripts = new SessionTranscripts(accounts, onIdle);
    this.#responses = new SessionResponses({
      ...{ accounts, facts },
      onRefused: (error, id) => {
        socket.send(cancelEvent(id));
        this.#refuse(error, null);
      },
      onIdle,
    });
    this.#fromProvider = createProviderEvents({
      ...{ candidate: socket.candidate, modelName: options.modelName, facts },
      ...{ responses: this.#responses, transcripts: this.#transcripts },
      pass: (event) => this.#toCaller(event),
      onBegun: (isOne) => {
        if (!isOne) {
          this.#isProvidersFault = true;
          this.end('flood');
        }
        if (this.#ending !== null) this.#cancel();
      },
      onRefused: (error) => this.keyChanged(error),
    });
    this.#incoming = new InOrder({
      take: (data) => this.#take(data),
      onBusy: (isBusy) => {
        if (isBusy) caller.pause();
        else if (socket.bufferedBytes < MAX_BUFFERED_BYTES) caller.resume();
      },
    });
  }

  get responseCount(): number {
    return this.#responses.count;
  }

  /** Nothing is under way: a session that stays so for long is idle. */
  get isIdle(): boolean {
    return this.#responses.isIdle && !this.#incoming.isBusy;
  }

  /** Everything is reported that is to be charged. */
  get #isSettled(): boolean {
    return this.#responses.isIdle && this.#transcripts.isIdle;
  }

  #onIdle(): void {
    if (this.#ending === null) {
      if (this.#isStopping && this.#responses.isIdle) this.end('restart');
    } else if (this.#isSettled) void this.#finish('left');
  }

  start(): void {
    const { socket, caller, settings } = this.#options;
    socket.start({
      onMessage: this.#fromProvider,
      onDrain: () => {
        if (socket.bufferedBytes >= MAX_BUFFERED_BYTES / 2) return;
        caller.holdUnsent(0);
        if (!this.#incoming.isBusy) caller.resume();
      },
      onClose: (code) => this.#providerClosed(code),
    });
    if (settings !== null)
      this.#incoming.push(Buffer.from(JSON.stringify({ type: 'session.update', session: settings })));
    socket.resume();
    if (!this.#incoming.isBusy) caller.resume();
  }

  fromCaller(data: Buffer, isBinary: boolean): void {
    if (this.#ending !== null) return;
    this.bytesIn += data.length;
    if (isBinary)
      this.#refuse(
        new GatewayError('invalid_value', 'Binary messages are not events. Send each event as text.'),
        null,
      );
    else this.#incoming.push(data);
  }

  #take(data: Buffer): void {
    if (this.#ending !== null) return;
    const outline = readEvent(data);
    if (outline === null) {
      this.#refuse(new GatewayError('invalid_json', "An event must be a JSON object with one 'type'."), null);
      return;
    }
    const act = lookUp(this.#callerEvents, outline.type);
    if (act === undefined) this.#toProvider(data);
    else act(data, outline);
  }

  readonly #callerEvents: Readonly<Record<string, (data: Buffer, outline: EventOutline) => void>> = {
    'input_audio_buffer.append': (data, { longestBytes }) => {
      this.#options.facts.heard(longestBytes);
      this.#toProvider(data);
    },
    'conversation.item.create': (data) => {
      this.#options.facts.added(data.length);
      this.#toProvider(data);
    },
    'response.create': (data) => this.#hold(data, (event) => this.#request(event, data)),
    'session.update': (data) => this.#hold(data, (event) => this.#update(event, data)),
    'transcription_session.update': (data) =>
      this.#hold(data, async () => {
        throw new GatewayError('unsupported_value', {
          path: ['type'],
          message: "Transcription sessions are not offered. Use 'session.update'.",
        });
      }),
  };

  /** Handles an event whose successors wait until it is handled. */
  #hold(data: Buffer, handle: (event: JsonObject) => Promise<void>): void {
    let eventId: string | null = null;
    const handled = async () => {
      const event = parseJson(data, this.#options.maxJsonDepth);
      if (!isObject(event)) throw new GatewayError('invalid_type', 'An event must be a JSON object.');
      eventId = typeof event.event_id === 'string' ? event.event_id : null;
      await handle(event);
    };
    this.#incoming.hold(handled().catch((error: unknown) => this.#refuse(toGatewayError(error), eventId)));
  }

  async #request(event: JsonObject, data: Buffer): Promise<void> {
    if (this.#isStopping) throw shuttingDown();
    const response = isObject(event.response) ? event.response : {};
    this.#options.facts.added(data.length);
    const eventId = typeof event.event_id === 'string' ? event.event_id : null;
    await this.#responses.request(eventId, response.max_output_tokens ?? response.max_response_output_tokens);
    // The caller may have left meanwhile.
    if (this.#ending === null) this.#toProvider(data);
  }

  async #update(event: JsonObject, data: Buffer): Promise<void> {
    const { accounts, socket, upstream, modelName } = this.#options;
    if (!isObject(event.session)) return this.#toProvider(data);
    const identity = await accounts.checkKey();
    const { candidate } = socket;
    const checked = checkSettings(event.session, { upstream, identity, modelName, candidate });
    if (checked.transcriber) this.#transcripts.allow(checked.transcriber);
    // Written again as it was read: of a member that comes twice the provider gets the one that was checked.
    this.#toProvider(Buffer.from(JSON.stringify({ ...event, session: checked.session })));
  }

  #toProvider(data: Buffer): void {
    const { socket, caller } = this.#options;
    socket.send(data);
    if (socket.bufferedBytes <= MAX_BUFFERED_BYTES) return;
    caller.pause();
    caller.holdUnsent(socket.bufferedBytes);
  }

  #toCaller(event: Buffer | string): void {
    const { caller, socket } = this.#options;
    if (this.#ending !== null) return;
    this.bytesOut += event.length;
    caller.send(event);
    if (caller.isFull) socket.pause();
  }

  /** The caller has taken everything. */
  callerDrained(): void {
    this.#options.socket.resume();
  }

  #refuse(error: GatewayError, eventId: string | null): void {
    if (this.#ending !== null) return;
    this.#options.caller.send(errorEvent(error, eventId));
    const reason = ENDING[error.code];
    if (reason !== undefined) this.end(reason);
  }

  /** Ends when the responses under way have ended; no further ones are made. */
  stop(): void {
    if (this.#isStopping || this.#ending !== null) return;
    this.#isStopping = true;
    this.#options.caller.send(errorEvent(shuttingDown(), null));
    if (this.isIdle) this.end('restart');
  }

  /** The key may no longer have this session, or could not be looked up. */
  keyChanged(error: GatewayError): void {
    if (ENDING[error.code] !== undefined) this.#refuse(error, null);
  }

  /** @param error what the caller is told before */
  end(reason: EndReason, error?: GatewayError): void {
    if (this.#ending !== null) return;
    // Before anything is sent: what a caller does not take may end its session as well.
    this.#ending = reason;
    if (error !== undefined) this.#options.caller.send(errorEvent(error, null));
    this.#settle(reason);
    this.#options.caller.close(CLOSE_CODES[reason]);
  }

  callerClosed(isLost: boolean): void {
    if (this.#ending === null) this.#settle(isLost ? 'lost' : 'caller');
  }

  /** Breaks off what is under way, and waits for what it has used. */
  #settle(reason: CloseReason): void {
    const { socket, settleMs } = this.#options;
    this.#ending = reason;
    socket.resume();
    this.#cancel();
    if (this.#isSettled) void this.#finish('left');
    else this.#settleTimer = setTimeout(() => void this.#finish('left'), settleMs);
  }

  #cancel(): void {
    for (const id of this.#responses.cancel()) this.#options.socket.send(cancelEvent(id));
  }

  #providerClosed(code: number): void {
    if (this.#ending === null) {
      const { error, closeCode } = providerClosed(code);
      this.#ending = 'upstream';
      this.#options.caller.send(errorEvent(error, null));
      this.#options.caller.close(closeCode);
    }
    void this.#finish('cut');
  }

  /** The drain deadline has passed: nothing is waited for any more. */
  breakOff(): void {
    this.end('restart');
    void this.#finish('left');
  }

  async #finish(outcome: UsageOutcome): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    const { socket, onOver } = this.#options;
    if (this.#settleTimer !== null) clearTimeout(this.#settleTimer);
    await this.#responses.close(outcome);
    socket.close(this.#isProvidersFault);
    onOver(this.#ending ?? 'upstream');
  }
}
