import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { EventFrame } from '@gateway/contracts/event-stream/event-frame';
import type { Caller, Sent } from './caller.ts';

/** A caller who gets events, and not over HTTP. */
export abstract class EventCaller implements Caller {
  readonly headers: IncomingHttpHeaders;
  readonly url: string;
  /** Of its answer, as far as it is known. */
  protected readonly head: OutgoingHttpHeaders = {};
  /** That HTTP would have. */
  status = 200;
  hasBegun = false;
  isGone = false;
  hasEnded = false;
  readonly #onTaken = new Set<() => void>();
  readonly #onClosed: (() => void)[] = [];

  constructor(headers: IncomingHttpHeaders, url: string) {
    this.headers = headers;
    this.url = url;
  }

  abstract readonly isFull: boolean;
  protected abstract take(frames: readonly EventFrame[]): void;
  /** The answer is no stream. */
  protected abstract takeOther(body: Buffer | string): void;

  note(name: string, value: string): void {
    if (!this.hasBegun) this.head[name] = value;
  }

  begin(status: number, headers: OutgoingHttpHeaders): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    this.status = status;
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) this.head[name] = value;
  }

  send(sent: Sent): boolean {
    if (this.isOver) return true;
    if (typeof sent === 'string' || Buffer.isBuffer(sent)) this.takeOther(sent);
    else this.take(sent);
    return !this.isFull;
  }

  end(sent: Sent = []): void {
    if (this.isOver) return;
    this.send(sent);
    this.hasEnded = true;
    this.#close();
  }

  breakOff(): void {
    this.leave();
  }

  /** The caller is gone. */
  leave(): void {
    if (this.isOver) return;
    this.isGone = true;
    this.#close();
  }

  /** It has taken what it was sent. */
  taken(): void {
    for (const listener of this.#onTaken) listener();
  }

  onTaken(listener: () => void): () => void {
    this.#onTaken.add(listener);
    return () => void this.#onTaken.delete(listener);
  }

  onClosed(listener: () => void): void {
    if (this.isOver) listener();
    else this.#onClosed.push(listener);
  }

  protected get isOver(): boolean {
    return this.isGone || this.hasEnded;
  }

  #close(): void {
    for (const listener of this.#onClosed) listener();
  }
}
