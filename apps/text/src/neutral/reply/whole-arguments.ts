import type { FinishReason } from '@gateway/contracts/finish-words';
import { parseArguments } from '../../wire/raw-json.ts';
import { upstreamNonsense } from '../../wire/read-upstream.ts';
import type { StreamStep } from '../../wire/stream/step.ts';
import type { StreamEvent } from './stream-event.ts';

/** An answer that ended so may have been cut in the middle of a call. */
export const isCut = (reason: FinishReason): boolean => reason === 'length' || reason === 'context-length';

/**
 * For callers whose protocol holds a call's arguments as an object. Arguments that are no object are invalid, unless the
 * answer was cut in the middle of them; only its end shows which, so the call stays open until then.
 */
export class WholeArgumentsStep implements StreamStep<StreamEvent, StreamEvent> {
  #arguments = '';
  #isFunction = false;
  #isHeld = false;

  /** @throws GatewayError `upstream_failed` where arguments are no object */
  *event(event: StreamEvent): Generator<StreamEvent> {
    if (this.#isHeld && event.type !== 'ping' && event.type !== 'error') {
      if (event.type !== 'finish' || !isCut(event.finish.reason)) throw upstreamNonsense();
      this.#isHeld = false;
      yield { type: 'tool-call-end' };
    }
    if (event.type === 'tool-call-start') {
      this.#arguments = '';
      this.#isFunction = !event.custom;
    } else if (event.type === 'tool-call-delta') this.#arguments += event.text;
    else if (event.type === 'tool-call-end' && this.#isFunction && parseArguments(this.#arguments) === null) {
      this.#isHeld = true;
      return;
    }
    yield event;
  }

  *end(): Generator<StreamEvent> {}
}
