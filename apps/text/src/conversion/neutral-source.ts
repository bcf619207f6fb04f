import { dataOf } from '@gateway/contracts/event-stream/frame-data';
import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { StreamEvent } from '../neutral/reply/stream-event.ts';
import { WholeArgumentsStep } from '../neutral/reply/whole-arguments.ts';
import type { AnswerPlan, ReplyContext } from '../neutral/target.ts';
import { MAX_PAUSES, TurnRecorder } from '../protocols/messages/reply/paused-turn.ts';
import { UPSTREAMS } from '../protocols/protocols.ts';
import { decodeFailure } from '../wire/openai-errors.ts';
import { upstreamNonsense } from '../wire/read-upstream.ts';
import { chain, type StreamStep } from '../wire/stream/step.ts';
import { isErrorEvent } from '../wire/stream/stream-reader.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { callsOf } from '../wire/tool-calls.ts';
import { addUsage, atTier, NO_USAGE, type Usage } from '../wire/usage.ts';
import { restoreSteps } from './restore-calls.ts';
import type { StopSequenceStep } from './stop-sequences.ts';

/** A single event beyond this is no longer an answer but a mistake. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** The callers whose protocols have the arguments of a call as an object. */
const WHOLE_ARGUMENTS: ReadonlySet<TextProtocol> = new Set(['messages', 'gemini']);

const newReader = () => createFrameReader({ maxFrameBytes: MAX_FRAME_BYTES });

/** No model answers at such length; a longer answer would fill the memory. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/**
 * The upstream's bytes as neutral events, held to the promise of `StreamEvent`: one start, then parts, one end.
 * Whatever the upstream does wrong becomes the `error` event that ends them.
 */
export class NeutralSource {
  readonly #cleanText: ReplyContext['cleanText'];
  readonly #createDecoder: () => StreamStep<string, StreamEvent>;
  #reader = newReader();
  #decoder: StreamStep<string, StreamEvent>;
  /** Present where the upstream may pause. */
  #recorder: TurnRecorder | null;
  #pauses = 0;
  #sizeBytes = 0;
  /** The end that a pause would be, if nobody continued. */
  #heldFinish: (StreamEvent & { type: 'finish' }) | null = null;
  /** What the answer cost before it was continued. */
  #earlierUsage: Usage = NO_USAGE;
  /** Null where there is no step between the decoder and the caller. */
  readonly #between: StreamStep<StreamEvent, StreamEvent> | null;
  readonly #stops: StopSequenceStep | null;
  /** What the events have said of it. */
  #usage: Usage = NO_USAGE;
  started = false;
  ended = false;

  constructor(plan: AnswerPlan, cleanText: ReplyContext['cleanText']) {
    this.#cleanText = cleanText;
    this.#createDecoder = () => UPSTREAMS[plan.target.protocol].decodeStream(plan.target, cleanText);
    this.#decoder = this.#createDecoder();
    this.#recorder = plan.mayPause ? new TurnRecorder() : null;
    const { step, stops } = restoreSteps(plan.restore);
    const check = WHOLE_ARGUMENTS.has(plan.caller) ? new WholeArgumentsStep() : null;
    this.#between = step && check ? chain(step, check) : (step ?? check);
    this.#stops = stops;
  }

  /** What to send back with `continueTurn` so that a paused answer goes on; null where it did not pause. */
  get pausedContent(): TurnRecorder['content'] | null {
    return this.#heldFinish === null ? null : (this.#recorder?.content ?? null);
  }

  /** The answer goes on in another stream of the upstream's. */
  resume(): void {
    this.#heldFinish = null;
    this.#earlierUsage = this.usage;
    this.#reader = newReader();
    this.#decoder = this.#createDecoder();
    this.#recorder = new TurnRecorder();
  }

  /** The model by its provider's own name for it; null where that says none. */
  get model(): string | null {
    return this.#decoder.model ?? null;
  }

  /** What the answer has used by what is known now. */
  get usage(): Usage {
    const reported = this.ended ? null : (this.#decoder.reported ?? null);
    return reported === null ? this.#usage : addUsage(this.#earlierUsage, reported);
  }

  /** Whether the upstream has given a whole answer, should it close now. */
  get isComplete(): boolean {
    return this.#heldFinish === null && (this.#decoder.isComplete ?? false);
  }

  /** See `RelayedStream`. */
  get rest(): 'wanted' | 'reporting' | 'ending' | 'read-off' {
    if (this.ended) return 'read-off';
    if (!this.isComplete) return 'wanted';
    return this.#decoder.awaitsUsage === true ? 'reporting' : 'ending';
  }

  push(bytes: Buffer): StreamEvent[] {
    return this.#guard((out) => {
      this.#sizeBytes += bytes.length;
      if (this.#sizeBytes > MAX_ANSWER_BYTES) throw new Error('an answer beyond the bound');
      for (const frame of this.#reader.push(bytes)) {
        const data = dataOf(frame);
        if (data === null) continue;
        this.#recorder?.record(data);
        const known = out.length;
        this.#take(this.#decoder.event(data), out);
        if (out.length === known && isErrorEvent(frame))
          this.#deliver(
            { type: 'error', error: decodeFailure(data, this.#cleanText), usage: this.usage },
            out,
          );
      }
      // Cut at a stop sequence: the answer is over, whatever the upstream still sends.
      if (this.#stops?.matched) for (const event of this.#stops.end()) this.#deliver(event, out);
    });
  }

  end(): StreamEvent[] {
    return this.#guard((out) => {
      const last = this.#reader.end();
      const data = last && dataOf(last);
      if (data !== null) this.#take(this.#decoder.event(data), out);
      if (this.#heldFinish !== null) this.#deliver(this.#heldFinish, out);
      else if (!this.ended) this.#take(this.#decoder.end(), out);
    });
  }

  fail(error: GatewayError): StreamEvent[] {
    return this.#guard((out) => this.#deliver({ type: 'error', error, usage: this.usage }, out));
  }

  #guard(work: (out: StreamEvent[]) => void): StreamEvent[] {
    const out: StreamEvent[] = [];
    if (this.ended) return out;
    try {
      work(out);
    } catch (cause) {
      const error = cause instanceof GatewayError ? cause : upstreamNonsense(cause);
      this.#deliver({ type: 'error', error, usage: this.usage }, out);
    }
    return out;
  }

  #take(events: Iterable<StreamEvent>, out: StreamEvent[]): void {
    for (const decoded of events) {
      const event =
        'usage' in decoded ? { ...decoded, usage: addUsage(this.#earlierUsage, decoded.usage) } : decoded;
      if (event.type === 'finish' && this.#pausesAt(event)) continue;
      if (this.#between === null || event.type === 'error') this.#deliver(event, out);
      else for (const restored of this.#between.event(event)) this.#deliver(restored, out);
    }
  }

  #pausesAt(event: StreamEvent & { type: 'finish' }): boolean {
    if (event.finish.reason !== 'pause' || this.#recorder === null || this.#pauses === MAX_PAUSES)
      return false;
    this.#pauses += 1;
    this.#heldFinish = event;
    this.#usage = event.usage;
    return true;
  }

  #deliver(event: StreamEvent, out: StreamEvent[]): void {
    if (this.ended || (event.type === 'ping' && !this.started)) return;
    if ('usage' in event && reportsAny(event.usage)) this.#usage = atTier(event.usage, tierOf(event));
    if (event.type === 'start') {
      if (this.started) return;
      this.started = true;
    } else if (!this.started && event.type !== 'error') {
      // Some servers begin without the event that says so.
      this.started = true;
      out.push({ type: 'start', usage: NO_USAGE });
    }
    if (event.type === 'finish' || event.type === 'error') this.ended = true;
    out.push(event);
  }
}

/** Calls of tools are seen before usage is reported. */
const reportsAny = (usage: Usage): boolean => usage.reported || callsOf(usage) !== null;

const tierOf = (event: StreamEvent) => ('serviceTier' in event ? event.serviceTier : undefined);
