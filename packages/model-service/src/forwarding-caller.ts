import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { Caller, Sent } from './caller.ts';

/** A caller behind another one, which gets everything as it is: for those that change or watch some of it. */
export abstract class ForwardingCaller implements Caller {
  protected readonly caller: Caller;

  constructor(caller: Caller) {
    this.caller = caller;
  }

  get headers(): IncomingHttpHeaders {
    return this.caller.headers;
  }

  get url(): string {
    return this.caller.url;
  }

  get hasBegun(): boolean {
    return this.caller.hasBegun;
  }

  get isGone(): boolean {
    return this.caller.isGone;
  }

  get hasEnded(): boolean {
    return this.caller.hasEnded;
  }

  get isFull(): boolean {
    return this.caller.isFull;
  }

  note(name: string, value: string): void {
    this.caller.note(name, value);
  }

  begin(status: number, headers: OutgoingHttpHeaders, isAtOnce?: boolean): void {
    this.caller.begin(status, headers, isAtOnce);
  }

  send(output: Sent): boolean {
    return this.caller.send(output);
  }

  end(output?: Sent): void {
    this.caller.end(output);
  }

  breakOff(): void {
    this.caller.breakOff();
  }

  onTaken(listener: () => void): () => void {
    return this.caller.onTaken(listener);
  }

  onClosed(listener: () => void): void {
    this.caller.onClosed(listener);
  }
}
