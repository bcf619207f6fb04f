import type { Caller, Sent } from '@gateway/model-service/caller';
import { ForwardingCaller } from '@gateway/model-service/forwarding-caller';
import type { GatheredAnswer } from './gathered-answer.ts';

/** A caller whose answer is gathered on its way. */
export class WatchedCaller extends ForwardingCaller {
  readonly #answer: GatheredAnswer;

  constructor(caller: Caller, answer: GatheredAnswer) {
    super(caller);
    this.#answer = answer;
  }

  override send(output: Sent): boolean {
    this.#answer.take(output);
    return this.caller.send(output);
  }

  override end(output?: Sent): void {
    if (output !== undefined && !this.caller.hasEnded) this.#answer.take(output);
    this.caller.end(output);
  }
}
