import { collectReply } from '../neutral/reply/collect-reply.ts';
import type { StreamEvent } from '../neutral/reply/stream-event.ts';
import type { AnswerPlan, ReplyContext } from '../neutral/target.ts';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { atTier, type Usage } from '../wire/usage.ts';
import { NeutralSource } from './neutral-source.ts';
import type { TranslatedReply } from './translate-reply.ts';

/** Collects an upstream's stream for a caller who does not stream. */
export class StreamCollector {
  readonly #plan: AnswerPlan;
  readonly #context: ReplyContext;
  readonly #source: NeutralSource;
  readonly #maxBytes: number;
  #events: StreamEvent[] = [];
  #outputLength = 0;
  #sizeBytes = 0;
  /** The streams so far, each one that follows a pause. */
  readonly #streams: Buffer[][] = [[]];

  /** @param maxBytes what is larger is not put together here: see `streams` */
  constructor(plan: AnswerPlan, context: ReplyContext, maxBytes = Number.POSITIVE_INFINITY) {
    this.#plan = plan;
    this.#context = context;
    this.#maxBytes = maxBytes;
    this.#source = new NeutralSource(plan, context.cleanText);
  }

  push(bytes: Buffer): void {
    this.#sizeBytes += bytes.length;
    if (this.#maxBytes < Number.POSITIVE_INFINITY) this.#streams.at(-1)?.push(bytes);
    this.#take(this.#source.push(bytes));
  }

  #take(events: readonly StreamEvent[]): void {
    for (const event of events) {
      if ('text' in event) this.#outputLength += event.text.length;
      if (!this.#isLarge || event.type === 'error') this.#events.push(event);
    }
  }

  get #isLarge(): boolean {
    return this.#sizeBytes > this.#maxBytes;
  }

  /** See `StreamTranslator`. */
  get pausedContent() {
    return this.#source.pausedContent;
  }

  resume(): void {
    this.#streams.push([]);
    this.#source.resume();
  }

  /** See `NeutralSource`. */
  get model(): string | null {
    return this.#source.model;
  }

  /** What the upstream has reported so far. */
  get usage(): Usage {
    return this.#source.usage;
  }

  /** Characters of what has come. */
  get outputLength(): number {
    return this.#outputLength;
  }

  get rest(): NeutralSource['rest'] {
    return this.#source.rest;
  }

  /**
   * The answer that the stream amounts to, or the streams that are to be put together elsewhere. Call it once.
   *
   * @throws GatewayError that the stream ended with
   */
  endOrLarge(): TranslatedReply | readonly Buffer[] {
    if (!this.#isLarge) return this.end();
    this.#take(this.#source.end());
    const failure = this.#events.find((event) => event.type === 'error');
    if (failure !== undefined) throw failure.error;
    return this.#streams.map((chunks) => Buffer.concat(chunks));
  }

  /** The answer that the stream amounts to. Call it once. @throws GatewayError that the stream ended with */
  end(): TranslatedReply {
    this.#take(this.#source.end());
    const reply = collectReply(this.#events);
    const context = { ...this.#context, plan: this.#plan };
    const body = PROTOCOLS[this.#plan.caller].encodeReply(reply, context);
    return { body, usage: atTier(reply.usage, reply.serviceTier), finish: reply.finish };
  }
}
