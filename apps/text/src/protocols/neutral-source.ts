import { GatewayError } from '@gateway/contracts/gateway-error';
import { NO_USAGE, type Usage } from './conversation/reply.ts';
import type { StopSequenceStep } from './conversation/stop-sequences.ts';
import type { StreamEvent } from './conversation/stream-event.ts';
import { WholeArgumentsStep } from './conversation/whole-arguments.ts';
import { PROTOCOLS } from './protocols.ts';
import { type SseMessage, SseReader } from './sse-frames.ts';
import { chain, type StreamStep } from './step.ts';
import type { AnswerPlan, Surroundings } from './target.ts';
import { undoSteps } from './undo-step.ts';
import { upstreamNonsense } from './wire.ts';

/**
 * The upstream's bytes as neutral events, held to the promise of `StreamEvent`: one start, then parts, one end.
 * Whatever the upstream does wrong becomes the `error` event that ends them.
 */
export class NeutralSource {
  readonly #reader = new SseReader();
  readonly #decoder: StreamStep<SseMessage, StreamEvent>;
  /** Null where nothing stands between the decoder and the caller. */
  readonly #between: StreamStep<StreamEvent, StreamEvent> | null;
  readonly #stops: StopSequenceStep | null;
  usage: Usage = NO_USAGE;
  started = false;
  ended = false;

  constructor(plan: AnswerPlan, cleanText: Surroundings['cleanText']) {
    this.#decoder = PROTOCOLS[plan.target.protocol].decodeStream(plan.target, cleanText);
    const { step, stops } = undoSteps(plan.undo);
    const check = plan.caller === 'messages' ? new WholeArgumentsStep() : null;
    this.#between = step && check ? chain(step, check) : (step ?? check);
    this.#stops = stops;
  }

  push(bytes: Uint8Array): StreamEvent[] {
    return this.#guard((out) => {
      for (const message of this.#reader.push(bytes)) this.#take(this.#decoder.event(message), out);
      // Cut at a stop sequence: the answer is over, whatever the upstream still says.
      if (this.#stops?.matched) for (const event of this.#stops.end()) this.#deliver(event, out);
    });
  }

  end(): StreamEvent[] {
    return this.#guard((out) => {
      for (const message of this.#reader.end()) this.#take(this.#decoder.event(message), out);
      if (!this.ended) this.#take(this.#decoder.end(), out);
    });
  }

  fail(error: GatewayError): StreamEvent[] {
    return this.#guard((out) => this.#deliver({ type: 'error', error, usage: this.usage }, out));
  }

  #guard(act: (out: StreamEvent[]) => void): StreamEvent[] {
    const out: StreamEvent[] = [];
    if (this.ended) return out;
    try {
      act(out);
    } catch (cause) {
      const error = cause instanceof GatewayError ? cause : upstreamNonsense(cause);
      this.#deliver({ type: 'error', error, usage: this.usage }, out);
    }
    return out;
  }

  #take(events: Iterable<StreamEvent>, out: StreamEvent[]): void {
    for (const event of events) {
      if (this.#between === null || event.type === 'error') this.#deliver(event, out);
      else for (const undone of this.#between.event(event)) this.#deliver(undone, out);
    }
  }

  #deliver(event: StreamEvent, out: StreamEvent[]): void {
    if (this.ended || (event.type === 'ping' && !this.started)) return;
    if ('usage' in event && event.usage.reported) this.usage = event.usage;
    if (event.type === 'start') {
      if (this.started) return;
      this.started = true;
    } else if (!this.started && event.type !== 'error') throw upstreamNonsense();
    if (event.type === 'finish' || event.type === 'error') this.ended = true;
    out.push(event);
  }
}
