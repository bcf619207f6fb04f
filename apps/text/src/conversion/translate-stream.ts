import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { RelayedStream } from '@gateway/model-service/stream/relayed-stream';
import type { Reply as UpstreamReply } from '@gateway/upstream/replies/reply';
import type { Finish } from '../neutral/reply/reply.ts';
import { replyEvents } from '../neutral/reply/reply-events.ts';
import type { StreamEvent } from '../neutral/reply/stream-event.ts';
import type { AnswerPlan, ReplyContext } from '../neutral/target.ts';
import { keepAliveFrame, PROTOCOLS, UPSTREAMS } from '../protocols/protocols.ts';
import type { StreamStep } from '../wire/stream/step.ts';
import type { Usage } from '../wire/usage.ts';
import { NeutralSource } from './neutral-source.ts';
import { restoreSteps } from './restore-calls.ts';

/** What shows the caller something of the answer, as opposed to frames around it. */
const OUTPUT: ReadonlySet<StreamEvent['type']> = new Set([
  'text-delta',
  'refusal-delta',
  'reasoning-delta',
  'tool-call-start',
  'web-search-start',
  'finish',
]);

/** Null: it may not go on. */
type GoOn = (pausedContent: NonNullable<NeutralSource['pausedContent']>) => Promise<UpstreamReply | null>;

/** Turns an upstream's stream into the caller's, chunk by chunk. Nothing is held that could be sent. */
export class StreamTranslator implements RelayedStream {
  /** The caller gets an id of ours. */
  readonly id = null;
  readonly #plan: AnswerPlan;
  readonly #goOn: GoOn | undefined;
  readonly #source: NeutralSource;
  readonly #encoder: StreamStep<StreamEvent, string>;
  #failure: GatewayError | null = null;
  #finish: Finish | null = null;
  #hasOutput = false;
  #outputLength = 0;

  /** @param goOn requests the rest of a paused answer */
  constructor(plan: AnswerPlan, context: ReplyContext, goOn?: GoOn) {
    this.#plan = plan;
    this.#goOn = goOn;
    this.#source = new NeutralSource(plan, context.cleanText);
    this.#encoder = PROTOCOLS[plan.caller].encodeStream({ ...context, plan });
  }

  /** Frames for the caller. None before the upstream's first good event: until then a failure can still be an HTTP error. */
  push(bytes: Buffer): readonly string[] {
    return this.#encode(this.#source.push(bytes));
  }

  /**
   * What the upstream sent before it paused its own tool loop; null where it did not pause. Read it when it has closed:
   * send `continueTurn(body, pausedContent)`, call `resume` and push what comes (`goOn` does). Or call `end`, and the
   * answer is cut.
   */
  get pausedContent() {
    return this.#source.pausedContent;
  }

  resume(): void {
    this.#source.resume();
  }

  /** The upstream has closed. Call it once; it makes the error event where the answer was not complete. */
  end(): readonly string[] {
    return this.#encode(this.#source.end());
  }

  /** The connection broke, a time limit passed, or the gateway stops: ends the caller's stream with this error. */
  fail(error: GatewayError): readonly string[] {
    return this.#encode(this.#source.fail(error));
  }

  /** The caller's last frame is written; the upstream may be left, whatever it still sends. */
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

  /** See `NeutralSource`. */
  get model(): string | null {
    return this.#source.model;
  }

  /** The last numbers that the upstream reported; `reported` is false where there are none. */
  get usage(): Usage {
    return this.#source.usage;
  }

  /** Characters of text, reasoning and arguments that came, for an estimate where usage is missing. */
  get outputLength(): number {
    return this.#outputLength;
  }

  goOn(): Promise<UpstreamReply | null> | null {
    const content = this.ended ? null : this.pausedContent;
    if (content === null || this.#goOn === undefined) return null;
    return this.#goOn(content).then((reply) => {
      if (reply !== null) this.resume();
      return reply;
    });
  }

  get isWhole(): boolean {
    return this.#finish !== null || (this.#failure === null && this.#source.isComplete);
  }

  get rest(): RelayedStream['rest'] {
    if (!this.ended) return this.#source.rest;
    // What the gateway cut at a stop sequence may have gone on for long.
    const isCut = this.#finish?.reason === 'stop-sequence' && this.#plan.restore.stopSequences.length > 0;
    return this.#failure !== null || isCut ? 'cancelled' : 'read-off';
  }

  keepAlive(): string {
    return keepAliveFrame(this.#plan.caller);
  }

  #encode(events: readonly StreamEvent[]): readonly string[] {
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
export function streamReply(plan: AnswerPlan, body: unknown, context: ReplyContext): string[] {
  const reply = UPSTREAMS[plan.target.protocol].decodeReply(body, plan.target, context.cleanText);
  const { step } = restoreSteps(plan.restore);
  const encoder = PROTOCOLS[plan.caller].encodeStream({ ...context, plan });
  const events = [...replyEvents(reply)];
  const restored = step === null ? events : events.flatMap((event) => [...step.event(event)]);
  return restored.flatMap((event) => [...encoder.event(event)]);
}
