import type { OutgoingHttpHeaders } from 'node:http';
import type { GatewayError } from '@gateway/contracts/gateway-error';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { isTurnSpent } from '@gateway/service-kit/load/turn-time';
import { CallerLeft, endedRequest, type RequestContext } from '@gateway/service-kit/request/request-context';
import { type Reply, UnreadableReply } from '@gateway/upstream/replies/reply';
import type { Caller } from '../caller.ts';
import { bytesOf, graceMs, isOver, type Output, type RelayedStream } from './relayed-stream.ts';

interface RelayOptions {
  readonly reply: Reply;
  readonly caller: Caller;
  readonly context: RequestContext;
  readonly stream: RelayedStream;
  /** Written with the first output. */
  readonly status?: number;
  /** A function is called when the first output is there. */
  readonly headers: OutgoingHttpHeaders | (() => OutgoingHttpHeaders);
  /** Silence after which an empty frame is sent; 0 for never. */
  readonly keepAliveMs?: number;
  /** Gets the provider's id before the caller does; the stream waits for what this returns. */
  readonly onId?: (id: string) => Promise<unknown> | undefined;
  /**
   * Gets the output before the caller does, and gives what the caller gets instead; the stream waits for a promise.
   *
   * @param isLast nothing follows
   */
  readonly before?: ((output: Output, isLast: boolean) => Output | Promise<Output>) | undefined;
  /** Called when the first bytes go out. */
  readonly onFirstByte?: () => void;
  /** Called once, when the answer is over and before the caller can know it, with what broke it if something did. */
  readonly onEnd?: (failure: GatewayError | undefined) => void;
}

/** Writes the end of an answer. To be called when all that its request held has been given back: its caller may go on at once. */
export type EndAnswer = () => void;

/**
 * Relays an upstream's stream to the caller as it comes: one write for each chunk that arrived, and no faster than the
 * caller takes it.
 *
 * Where the stream breaks after its first output, the caller gets the dialect's error and `context.failure` holds the reason.
 * A caller who leaves ends it without one; whether the upstream is then aborted or read to its end is the channel's
 * setting, and the exchange's own affair. Resolves when the answer is over, however it ended: to what writes its end.
 *
 * @throws {GatewayError} where it breaks before its first output; nothing has been sent then
 */
export function relayStream(options: RelayOptions): Promise<EndAnswer> {
  return new Promise((resolve, reject) => {
    new Relay(options, resolve, reject).begin();
  });
}

function joined(first: Output, second: Output): Output {
  if (first === null || first.length === 0) return second;
  if (second === null || second.length === 0) return first;
  if (Buffer.isBuffer(first) || Buffer.isBuffer(second))
    return Buffer.concat([bytesOf(first), bytesOf(second)]);
  return [...first, ...second];
}

/** The caller has left. */
const hasEnded: EndAnswer = () => undefined;

class Relay {
  readonly #options: RelayOptions;
  readonly #resolve: (end: EndAnswer) => void;
  readonly #reject: (error: unknown) => void;
  /** Another one after each pause of the upstream's. */
  #reply: Reply;
  #over = false;
  #knowsId = false;
  /** Whether anything of the answer was written; a head alone may have been sent to keep the caller waiting. */
  #hasWritten = false;
  /** Whether anything was written since the silence was last looked at. */
  #hasSpoken = false;
  #keepAlive: NodeJS.Timeout | undefined;
  #stopTaking: (() => void) | undefined;
  /** Set while something is done before the caller gets its next output. */
  #held: Promise<void> | null = null;
  /** What the rest was good for when it was last looked at. */
  #rest: RelayedStream['rest'] = 'wanted';
  /** The end of a whole answer, of which something may still come: its caller, who may go on at once, gets all of it at the end. */
  #ending: Output = null;
  /** Runs while the answer is whole, and something may still come. */
  #grace: NodeJS.Timeout | undefined;
  /** Whether the stream has been told that its upstream has closed. */
  #hasEnded = false;

  constructor(options: RelayOptions, resolve: (end: EndAnswer) => void, reject: (error: unknown) => void) {
    this.#options = options;
    this.#reply = options.reply;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(): void {
    const { caller, context, keepAliveMs = 0 } = this.#options;
    this.#stopTaking = caller.onTaken(this.#onTaken);
    context.signal.addEventListener('abort', this.#onAbort);
    if (keepAliveMs > 0) this.#keepAlive = setInterval(this.#breakSilence, keepAliveMs);
    this.#consume();
  }

  #consume(): void {
    this.#reply.consume({
      onChunk: (chunk) => this.#onChunk(chunk),
      onEnd: () => this.#onEnd(),
      onError: (error) => this.#fail(error),
    });
  }

  /** False makes the upstream pause. What comes after the caller's last byte is only read off. */
  #onChunk(chunk: Buffer): boolean {
    if (this.#over || this.#hasEnded) return true;
    try {
      const output = this.#prepared(this.#options.stream.push(chunk));
      if (output instanceof Promise) return this.#hold(output);
      return this.#pass(output) && this.#mayGoOn(chunk);
    } catch (error) {
      return this.#giveUp(error);
    }
  }

  /** False where others get their turn first: an upstream may deliver faster than its stream is worked on. */
  #mayGoOn(chunk: Buffer): boolean {
    if (!isTurnSpent(chunk.length)) return true;
    setImmediate(() => {
      if (this.#over || !this.#options.caller.isFull) this.#onTaken();
    });
    return false;
  }

  #prepared(output: Output | Promise<Output>, isLast = false): Output | Promise<Output> {
    const { before, stream } = this.#options;
    if (before === undefined) return output;
    const prepare = (given: Output) => before(given, isLast || isOver(stream.rest));
    return output instanceof Promise ? output.then(prepare) : prepare(output);
  }

  /** Writes what is worked on when it is there, and goes on then. */
  #hold(output: Promise<Output>): false {
    this.#held = output.then(
      (text) => {
        this.#held = null;
        if (!this.#over && this.#pass(text)) this.#reply.resume();
      },
      (error: unknown) => {
        this.#held = null;
        this.#giveUp(error);
      },
    );
    return false;
  }

  /** Writes, but not before the provider's id can be found again by the caller who learns it. */
  #pass(output: Output): boolean {
    const { stream, onId } = this.#options;
    if (this.#knowsId || onId === undefined || stream.id === null) return this.#deliver(output);
    this.#knowsId = true;
    const pending = onId(stream.id);
    if (pending === undefined) return this.#deliver(output);
    pending.then(
      () => {
        if (!this.#over && this.#deliver(output)) this.#reply.resume();
      },
      (error: unknown) => this.#giveUp(error),
    );
    return false;
  }

  #deliver(output: Output): boolean {
    const { rest } = this.#options.stream;
    if (isOver(rest)) {
      this.#finish(output);
      return true;
    }
    if (rest !== this.#rest) this.#awaitRest(rest);
    if (graceMs(rest) !== undefined) {
      this.#ending = joined(this.#ending, output);
      return true;
    }
    return this.#write(this.#takeEnding(output));
  }

  /** What is left to write, with what comes after it. */
  #takeEnding(output: Output): Output {
    const all = joined(this.#ending, output);
    this.#ending = null;
    return all;
  }

  #awaitRest(rest: RelayedStream['rest']): void {
    this.#rest = rest;
    clearTimeout(this.#grace);
    const ms = graceMs(rest);
    if (ms === undefined || this.#over) return;
    this.#grace = setTimeout(() => {
      // What may have come has not been read, because of the caller.
      if (this.#held !== null || this.#options.caller.isFull) this.#awaitRest(rest);
      else this.#onEnd();
    }, ms);
  }

  #write(output: Output): boolean {
    const { caller } = this.#options;
    // The caller has left, and the rest is read only to learn how it ends.
    if (output === null || output.length === 0 || caller.isGone) return true;
    this.#begin();
    this.#hasSpoken = true;
    return caller.send(output);
  }

  /** Before the first output. */
  #begin(): void {
    const { caller, status = 200, headers, onFirstByte } = this.#options;
    if (!caller.hasBegun) caller.begin(status, typeof headers === 'function' ? headers() : headers);
    if (!this.#hasWritten) onFirstByte?.();
    this.#hasWritten = true;
  }

  #onEnd(): void {
    if (this.#over || this.#hasEnded) return;
    this.#hasEnded = true;
    const { stream } = this.#options;
    const continued = stream.goOn?.() ?? null;
    if (continued !== null) {
      continued.then(
        (reply) => (reply === null ? this.#endStream() : this.#continue(reply)),
        (error: unknown) => this.#fail(toGatewayError(error)),
      );
      return;
    }
    this.#endStream();
  }

  #endStream(): void {
    if (this.#over) return;
    const { stream } = this.#options;
    try {
      const output = this.#prepared(stream.end(), true);
      if (output instanceof Promise)
        output.then(
          (text) => this.#close(text),
          (error: unknown) => this.#giveUp(error),
        );
      else this.#close(output);
    } catch (error) {
      this.#giveUp(error);
    }
  }

  #close(output: Output): void {
    if (!this.#over) this.#finish(output);
  }

  #continue(reply: Reply): void {
    if (this.#over) {
      reply.cancel();
      return;
    }
    this.#reply = reply;
    this.#hasEnded = false;
    this.#consume();
  }

  /** The stream is complete, or its own last event is an error. @param output what its caller gets last */
  #finish(output: Output): void {
    const { stream, caller, context } = this.#options;
    const last = this.#takeEnding(output);
    const { failure } = stream;
    this.#over = true;
    const isEmpty = last === null || last.length === 0;
    if (!isEmpty && !caller.isGone) this.#begin();
    if (failure instanceof UnreadableReply) this.#reply.unreadable(failure.message);
    else if (failure !== null || stream.rest === 'cancelled') this.#reply.cancel();
    else this.#reply.letGo();
    if (this.#hasLeft) {
      this.#stop(undefined);
      this.#resolve(hasEnded);
    } else if (failure !== null && !this.#hasWritten) {
      this.#stop(failure);
      this.#reject(failure);
    } else {
      if (failure !== null) context.failure ??= failure;
      this.#stop(context.failure);
      this.#resolve(() => caller.end(isEmpty ? undefined : last));
    }
  }

  /** The stream broke without an event of its own about it. */
  #fail(error: GatewayError): void {
    if (this.#over) return;
    if (this.#held !== null) {
      void this.#held.then(() => this.#fail(error));
      return;
    }
    const { stream, context } = this.#options;
    if (this.#hasLeft) {
      this.#finish(null);
      return;
    }
    if (stream.isWhole) {
      this.#onEnd();
      return;
    }
    const shown = endedRequest(context) ?? error;
    this.#write(this.#takeEnding(null));
    if (this.#hasWritten) context.failure = shown;
    this.#stop(shown);
    if (!this.#hasWritten) {
      this.#reject(shown);
      return;
    }
    const frames = stream.fail(shown);
    const ending = frames === null ? null : this.#prepared(frames, true);
    if (ending instanceof Promise) {
      ending.then(
        (frames) => this.#breakOff(frames),
        () => this.#breakOff(null),
      );
    } else this.#breakOff(ending);
  }

  #breakOff(ending: Output): void {
    const { caller } = this.#options;
    this.#resolve(() => {
      if (ending === null) caller.breakOff();
      else caller.end(ending);
    });
  }

  /** A fault of our own. */
  #giveUp(error: unknown): true {
    this.#fail(toGatewayError(error));
    this.#reply.cancel();
    return true;
  }

  get #hasLeft(): boolean {
    const { caller, context } = this.#options;
    return caller.isGone || context.signal.reason instanceof CallerLeft;
  }

  readonly #onTaken = (): void => {
    if (this.#held === null) this.#reply.resume();
  };

  /** A caller who leaves is the exchange's affair; the drain deadline ends the reply from here. */
  readonly #onAbort = (): void => {
    const { context } = this.#options;
    const ended = endedRequest(context);
    if (ended === undefined || context.signal.reason instanceof CallerLeft) return;
    this.#fail(ended);
    this.#reply.cancel();
  };

  readonly #breakSilence = (): void => {
    const { caller, stream } = this.#options;
    if (!this.#hasWritten || caller.isFull) return;
    const frame = this.#hasSpoken ? null : stream.keepAlive();
    if (frame !== null) this.#write([frame]);
    this.#hasSpoken = false;
  };

  #stop(failure: GatewayError | undefined): void {
    const { context, onEnd } = this.#options;
    this.#over = true;
    clearInterval(this.#keepAlive);
    clearTimeout(this.#grace);
    this.#stopTaking?.();
    context.signal.removeEventListener('abort', this.#onAbort);
    onEnd?.(failure);
  }
}
