import { GatewayError } from '@gateway/contracts/gateway-error';
import type { JsonObject } from '@gateway/contracts/json/json-object';
import type { UsageOutcome } from '@gateway/contracts/usage/usage-record';
import { realtimeErrorEvent } from '@gateway/service-kit/error-response';
import { kindOfProtocol } from '@gateway/upstream/sending/time-limits';
import type { UpstreamSocket } from '@gateway/upstream/sockets/open-socket';
import type { Upstream } from '@gateway/upstream/upstream';
import { createCallerEvents } from './caller-events.ts';
import { type CallerSocket, MAX_BUFFERED_BYTES } from './caller-socket.ts';
import { InOrder } from './in-order.ts';
import { createProviderEvents } from './provider-events.ts';
import type { CloseReason } from './realtime-metrics.ts';
import type { ResponseAccounts } from './response-accounts.ts';
import type { SessionContent } from './session-content.ts';
import {
  CLOSINGS,
  cancelEvent,
  ENDING,
  type EndReason,
  providerClosed,
  providerSilent,
  shuttingDown,
} from './session-end.ts';
import type { SessionFacts } from './session-facts.ts';
import { SessionResponses } from './session-responses.ts';
import { SessionTranscripts } from './session-transcripts.ts';

interface SessionOptions {
  readonly caller: CallerSocket;
  readonly socket: UpstreamSocket;
  readonly accounts: ResponseAccounts;
  readonly facts: SessionFacts;
  readonly content: SessionContent;
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
  /** The provider has sent something since the last check. */
  #isHeard = true;
  #quietSinceMs = 0;
  #awaitedSinceMs: number | null = null;
  bytesIn = 0;
  bytesOut = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { accounts, facts, content, socket, caller, upstream, modelName, maxJsonDepth } = options;
    const onIdle = () => this.#onIdle();
    this.#transcripts = new SessionTranscripts(accounts, onIdle);
    this.#responses = new SessionResponses({
      ...{ accounts, facts },
      onRefused: (error, id) => {
        socket.send(cancelEvent(id));
        this.#refuse(error, null);
      },
      onSoundRefused: (error) => this.#refuse(error, null),
      onIdle,
    });
    this.#fromProvider = createProviderEvents({
      ...{ candidate: socket.candidate, modelName, facts, content },
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
      take: createCallerEvents({
        ...{ accounts, facts, content, upstream, modelName, candidate: socket.candidate, maxJsonDepth },
        ...{ responses: this.#responses, transcripts: this.#transcripts },
        isOver: () => this.#ending !== null,
        isStopping: () => this.#isStopping,
        pass: (data) => this.#toProvider(data),
        refuse: (error, eventId) => this.#refuse(error, eventId),
        hold: (work) => this.#incoming.hold(work),
      }),
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
      onMessage: (data, isBinary) => {
        this.#isHeard = true;
        this.#fromProvider(data, isBinary);
      },
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
    this.#options.caller.send(realtimeErrorEvent(error, eventId));
    const reason = ENDING[error.code];
    if (reason !== undefined) this.end(reason);
  }

  /** Ends when the responses under way have ended; no further ones are made. */
  stop(): void {
    if (this.#isStopping || this.#ending !== null) return;
    this.#isStopping = true;
    this.#options.caller.send(realtimeErrorEvent(shuttingDown(), null));
    if (this.isIdle) this.end('restart');
  }

  /**
   * To be called every few seconds, with a monotonic clock: ends where the provider has fallen silent within a response, and gives
   * back what it does not begin.
   */
  check(nowMs: number): void {
    if (this.#ending !== null) return;
    const { socket, caller } = this.#options;
    const { channel, protocol } = socket.candidate;
    const { idleMs } = channel.timeLimits[kindOfProtocol(protocol)];
    // A provider may refuse one in an error that does not say which, or say nothing: it is not waited for without end.
    this.#awaitedSinceMs = this.#responses.isAwaited ? (this.#awaitedSinceMs ?? nowMs) : null;
    if (this.#awaitedSinceMs !== null && nowMs - this.#awaitedSinceMs >= idleMs) this.#responses.giveUp();
    // A provider that is not read cannot be heard.
    const isWaitedFor = this.#responses.isUnderWay && !this.#isHeard && !caller.isFull;
    if (!isWaitedFor) this.#quietSinceMs = nowMs;
    this.#isHeard = false;
    if (nowMs - this.#quietSinceMs < idleMs) return;
    this.#isProvidersFault = true;
    this.end('upstream', providerSilent());
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
    if (error !== undefined) this.#options.caller.send(realtimeErrorEvent(error, null));
    this.#settle(reason);
    this.#options.caller.close(CLOSINGS[reason]);
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
    const outcome = reason === 'upstream' ? 'cut' : 'left';
    if (this.#isSettled) void this.#finish(outcome);
    else this.#settleTimer = setTimeout(() => void this.#finish(outcome), settleMs);
  }

  #cancel(): void {
    for (const id of this.#responses.cancel()) this.#options.socket.send(cancelEvent(id));
  }

  #providerClosed(code: number): void {
    if (this.#ending === null) {
      const { error, closing } = providerClosed(code);
      this.#ending = 'upstream';
      this.#options.caller.send(realtimeErrorEvent(error, null));
      this.#options.caller.close(closing);
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
    const { socket, content, onOver } = this.#options;
    if (this.#settleTimer !== null) clearTimeout(this.#settleTimer);
    await this.#responses.close(outcome);
    content.close();
    socket.close(this.#isProvidersFault);
    onOver(this.#ending ?? 'upstream');
  }
}
