import type { Finish } from '../conversation/reply.ts';
import type { StreamEvent } from '../conversation/stream-event.ts';
import type { Undo } from '../conversation/target.ts';
import type { StreamStep } from '../wire/step.ts';
import { InputTextDecoder } from './input-text-decoder.ts';

/** Turns tool calls back into what the caller declared: its names, its free-text tools, and its answer. */
export class RestoreCallsStep implements StreamStep<StreamEvent, StreamEvent> {
  readonly #undo: Undo;
  #decoder: InputTextDecoder | null = null;
  #inAnswer = false;

  constructor(undo: Undo) {
    this.#undo = undo;
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
    if (event.name === this.#undo.answerTool) {
      this.#inAnswer = true;
      return { type: 'text-start' };
    }
    const tool = this.#undo.tools.get(event.name);
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
    return this.#undo.answerTool !== null && finish.reason === 'tool-calls' ? { reason: 'stop' } : finish;
  }
}
