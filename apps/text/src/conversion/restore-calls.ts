import type { Finish } from '../neutral/reply/reply.ts';
import type { StreamEvent } from '../neutral/reply/stream-event.ts';
import { isCut } from '../neutral/reply/whole-arguments.ts';
import type { Restorations } from '../neutral/target.ts';
import type { KnownCall } from '../neutral/tool.ts';
import { callItem } from '../protocols/caller-tools/responses-tools.ts';
import { upstreamNonsense } from '../wire/read-upstream.ts';
import { chain, type StreamStep } from '../wire/stream/step.ts';
import { InputTextDecoder } from './input-text-decoder.ts';
import { StopSequenceStep } from './stop-sequences.ts';

type CallStart = StreamEvent & { type: 'tool-call-start' };

/** A call that the caller gets as an item: it can only be shown whole. */
interface HeldCall {
  readonly start: CallStart;
  readonly known: KnownCall;
  text: string;
}

/** Turns tool calls back into what the caller declared: its names, its free-text tools, its items, and its answer. */
export class RestoreCallsStep implements StreamStep<StreamEvent, StreamEvent> {
  readonly #restorations: Restorations;
  #decoder: InputTextDecoder | null = null;
  #inAnswer = false;
  #held: HeldCall | null = null;
  /** A held call has ended in arguments that are no item. */
  #isBroken = false;

  constructor(restorations: Restorations) {
    this.#restorations = restorations;
  }

  /** @throws GatewayError `upstream_failed` where a call is no item of its type, unless the answer was cut in it */
  *event(event: StreamEvent): Generator<StreamEvent> {
    if (this.#isBroken && event.type !== 'ping' && event.type !== 'error') {
      if (event.type !== 'finish' || !isCut(event.finish.reason)) throw upstreamNonsense();
      this.#isBroken = false;
    }
    switch (event.type) {
      case 'tool-call-start':
        yield* this.#start(event);
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

  *#start(event: CallStart): Generator<StreamEvent> {
    if (event.name === this.#restorations.answerTool) {
      this.#inAnswer = true;
      yield { type: 'text-start' };
      return;
    }
    const tool = this.#restorations.tools.get(event.name);
    if (tool === undefined) {
      yield event;
      return;
    }
    const { name, namespace, custom, known } = tool;
    const start = { ...event, name, namespace, custom };
    if (known !== undefined) {
      this.#held = { start, known, text: '' };
      return;
    }
    if (custom) this.#decoder = new InputTextDecoder();
    yield start;
  }

  *#delta(fragment: string): Generator<StreamEvent> {
    if (this.#held !== null) {
      this.#held.text += fragment;
      return;
    }
    if (this.#inAnswer) {
      yield { type: 'text-delta', text: fragment };
      return;
    }
    const text = this.#decoder === null ? fragment : this.#decoder.push(fragment);
    if (text !== '') yield { type: 'tool-call-delta', text };
  }

  *#endCall(): Generator<StreamEvent> {
    if (this.#held !== null) {
      yield* this.#showHeld(this.#held);
      this.#held = null;
      return;
    }
    const rest = this.#decoder?.end() ?? '';
    if (rest !== '') yield { type: 'tool-call-delta', text: rest };
    this.#decoder = null;
    yield { type: this.#inAnswer ? 'text-end' : 'tool-call-end' };
    this.#inAnswer = false;
  }

  *#showHeld({ start, known, text }: HeldCall): Generator<StreamEvent> {
    const item = callItem(known, text);
    this.#isBroken = item === null;
    if (item === null) return;
    yield { ...start, item };
    yield { type: 'tool-call-delta', text };
    yield { type: 'tool-call-end' };
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
