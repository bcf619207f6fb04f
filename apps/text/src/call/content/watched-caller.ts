import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { Caller, Sent } from '@gateway/model-service/caller';
import type { GatheredAnswer } from './gathered-answer.ts';

/** A caller whose answer is gathered on its way. */
export class WatchedCaller implements Caller {
  readonly #caller: Caller;
  readonly #answer: GatheredAnswer;

  constructor(caller: Caller, answer: GatheredAnswer) {
    this.#caller = caller;
    this.#answer = answer;
  }

  get headers(): IncomingHttpHeaders {
    return this.#caller.headers;
  }

  get url(): string {
    return this.#caller.url;
  }

  get hasBegun(): boolean {
    return this.#caller.hasBegun;
  }

  get isGone(): boolean {
    return this.#caller.isGone;
  }

  get hasEnded(): boolean {
    return this.#caller.hasEnded;
  }

  get isFull(): boolean {
    return this.#caller.isFull;
  }

  note(name: string, value: string): void {
    this.#caller.note(name, value);
  }

  begin(status: number, headers: OutgoingHttpHeaders, isAtOnce?: boolean): void {
    this.#caller.begin(status, headers, isAtOnce);
  }

  send(output: Sent): boolean {
    this.#answer.take(output);
    return this.#caller.send(output);
  }

  end(output?: Sent): void {
    if (output !== undefined && !this.#caller.hasEnded) this.#answer.take(output);
    this.#caller.end(output);
  }

  breakOff(): void {
    this.#caller.breakOff();
  }

  onTaken(listener: () => void): () => void {
    return this.#caller.onTaken(listener);
  }

  onClosed(listener: () => void): void {
    this.#caller.onClosed(listener);
  }
}
