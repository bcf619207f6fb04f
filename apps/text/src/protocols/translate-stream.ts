import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Finish, Usage } from './conversation/reply.ts';
import { replyEvents } from './conversation/reply-events.ts';
import type { StreamEvent } from './conversation/stream-event.ts';
import { NeutralSource } from './neutral-source.ts';
import { PROTOCOLS } from './protocols.ts';
import type { StreamStep } from './step.ts';
import type { AnswerPlan, Surroundings } from './target.ts';
import { undoSteps } from './undo-step.ts';

/** What shows the caller something of the answer, as opposed to frames around it. */
const OUTPUT: ReadonlySet<StreamEvent['type']> = new Set([
  'text-delta',
  'refusal-delta',
  'reasoning-delta',
  'tool-call-start',
  'web-search-start',
  'finish',
]);

/**
 * Turns an upstream's stream into the caller's, chunk by chunk. Push what arrives; write what comes back, each string
 * with one write. Nothing is held that could be sent.
 */
export class StreamTranslator {
  readonly #source: NeutralSource;
  readonly #encoder: StreamStep<StreamEvent, string>;
  #failure: GatewayError | null = null;
  #finish: Finish | null = null;
  #hasOutput = false;
  #outputLength = 0;

  constructor(plan: AnswerPlan, surroundings: Surroundings) {
    this.#source = new NeutralSource(plan, surroundings.cleanText);
    this.#encoder = PROTOCOLS[plan.caller].encodeStream({ ...surroundings, plan });
  }

  /** Frames for the caller. None before the upstream's first good event: until then a failure can still be an HTTP error. */
  push(bytes: Uint8Array): string[] {
    return this.#encode(this.#source.push(bytes));
  }

  /**
   * What the upstream said before it paused its own tool loop; null where it did not pause. Look when it has closed:
   * send `continueTurn(body, pausedContent)`, call `resume` and push what comes. Or call `end`, and the answer is cut.
   */
  get pausedContent() {
    return this.#source.pausedContent;
  }

  resume(): void {
    this.#source.resume();
  }

  /** The upstream has closed. Call it once; it makes the error event where the answer was not complete. */
  end(): string[] {
    return this.#encode(this.#source.end());
  }

  /** The connection broke, a time limit passed, or the gateway stops: ends the caller's stream with this error. */
  fail(error: GatewayError): string[] {
    return this.#encode(this.#source.fail(error));
  }

  /** The caller's last frame is written; the upstream may be left, whatever it still says. */
  get ended(): boolean {
    return this.#source.ended;
  }

  /** Whether frames exist. False with a `failure`: answer with an HTTP error or try the next channel. */
  get started(): boolean {
    return this.#source.started;
  }

  /** Whether the caller saw anything of the answer itself. */
  get hasOutput(): boolean {
    return this.#hasOutput;
  }

  get failure(): GatewayError | null {
    return this.#failure;
  }

  get finish(): Finish | null {
    return this.#finish;
  }

  /** The last numbers that the upstream reported; `reported` is false where there are none. */
  get usage(): Usage {
    return this.#source.usage;
  }

  /** Characters of text, reasoning and arguments that came, for an estimate where usage is missing. */
  get outputLength(): number {
    return this.#outputLength;
  }

  #encode(events: readonly StreamEvent[]): string[] {
    const frames: string[] = [];
    for (const event of events) {
      if (event.type === 'error') this.#failure = event.error;
      if (event.type === 'finish') this.#finish = event.finish;
      if (OUTPUT.has(event.type)) this.#hasOutput = true;
      if ('text' in event) this.#outputLength += event.text.length;
      if (this.#source.started) frames.push(...this.#encoder.event(event));
    }
    return frames;
  }
}

/** A finished answer as the stream that a streaming caller of a buffered upstream gets: all frames at once. */
export function streamReply(plan: AnswerPlan, body: unknown, surroundings: Surroundings): string[] {
  const reply = PROTOCOLS[plan.target.protocol].decodeReply(body, plan.target, surroundings.cleanText);
  const { step } = undoSteps(plan.undo);
  const encoder = PROTOCOLS[plan.caller].encodeStream({ ...surroundings, plan });
  const events = [...replyEvents(reply)];
  const undone = step === null ? events : events.flatMap((event) => [...step.event(event)]);
  return undone.flatMap((event) => [...encoder.event(event)]);
}
