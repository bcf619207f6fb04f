import type { Finish } from '../conversation/reply/reply.ts';
import type { StreamEvent } from '../conversation/reply/stream-event.ts';
import type { Restorations } from '../conversation/target.ts';
import { chain, type StreamStep } from '../wire/stream/step.ts';
import { InputTextDecoder } from './input-text-decoder.ts';
import { StopSequenceStep } from './stop-sequences.ts';

/** Turns tool calls back into what the caller declared: its names, its free-text tools, and its answer. */
export class RestoreCallsStep implements StreamStep<StreamEvent, StreamEvent> {
  readonly #restorations: Restorations;
  #decoder: InputTextDecoder | null = null;
  #inAnswer = false;

  constructor(restorations: Restorations) {
    this.#restorations = restorations;
  }

  *event(event: StreamEvent): Generator<StreamEvent> {
    switch (event.type) {
      case 'tool-call-start':
        yield this.#start(event);
        break;
      case 'tool-call-delta':
        yield* this.#delta(event.text);
        break;
      case 'tool-call-end':
        yield* this.#endCall();
        break;
      case 'finish':
        yield { ...event, finish: this.#finish(event.finish) };
        break;
      default:
        yield event;
    }
  }

  *end(): Generator<StreamEvent> {}

  #start(event: StreamEvent & { type: 'tool-call-start' }): StreamEvent {
    if (event.name === this.#restorations.answerTool) {
      this.#inAnswer = true;
      return { type: 'text-start' };
    }
    const tool = this.#restorations.tools.get(event.name);
    if (tool === undefined) return event;
    if (tool.custom) this.#decoder = new InputTextDecoder();
    return { ...event, name: tool.name, namespace: tool.namespace, custom: tool.custom };
  }

  *#delta(fragment: string): Generator<StreamEvent> {
    if (this.#inAnswer) {
      yield { type: 'text-delta', text: fragment };
      return;
    }
    const text = this.#decoder === null ? fragment : this.#decoder.push(fragment);
    if (text !== '') yield { type: 'tool-call-delta', text };
  }

  *#endCall(): Generator<StreamEvent> {
    const rest = this.#decoder?.end() ?? '';
    if (rest !== '') yield { type: 'tool-call-delta', text: rest };
    this.#decoder = null;
    yield { type: this.#inAnswer ? 'text-end' : 'tool-call-end' };
    this.#inAnswer = false;
  }

  #finish(finish: Finish): Finish {
    return this.#restorations.answerTool !== null && finish.reason === 'tool-calls'
      ? { reason: 'stop' }
      : finish;
  }
}

export interface RestoreSteps {
  /** Null where the request was changed in nothing that shows. */
  readonly step: StreamStep<StreamEvent, StreamEvent> | null;
  /** Present where the gateway watches for stop sequences. */
  readonly stops: StopSequenceStep | null;
}

/** The steps that turn an answer back into what the caller's request was for. */
export function restoreSteps(restorations: Restorations): RestoreSteps {
  const restores = restorations.tools.size > 0 || restorations.answerTool !== null;
  const restore = restores ? new RestoreCallsStep(restorations) : null;
  const stops =
    restorations.stopSequences.length > 0 ? new StopSequenceStep(restorations.stopSequences) : null;
  return { step: restore && stops ? chain(restore, stops) : (restore ?? stops), stops };
}
