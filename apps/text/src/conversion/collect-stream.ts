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
  readonly #events: StreamEvent[] = [];

  constructor(plan: AnswerPlan, context: ReplyContext) {
    this.#plan = plan;
    this.#context = context;
    this.#source = new NeutralSource(plan, context.cleanText);
  }

  push(bytes: Buffer): void {
    this.#events.push(...this.#source.push(bytes));
  }

  /** See `StreamTranslator`. */
  get pausedContent() {
    return this.#source.pausedContent;
  }

  resume(): void {
    this.#source.resume();
  }

  /** What the upstream has reported so far. */
  get usage(): Usage {
    return this.#source.usage;
  }

  /** Characters of what has come. */
  get outputLength(): number {
    return this.#events.reduce((sum, event) => sum + ('text' in event ? event.text.length : 0), 0);
  }

  get rest(): NeutralSource['rest'] {
    return this.#source.rest;
  }

  /** The answer that the stream amounts to. Call it once. @throws GatewayError that the stream ended with */
  end(): TranslatedReply {
    this.#events.push(...this.#source.end());
    const reply = collectReply(this.#events);
    const context = { ...this.#context, plan: this.#plan };
    const body = PROTOCOLS[this.#plan.caller].encodeReply(reply, context);
    return { body, usage: atTier(reply.usage, reply.serviceTier), finish: reply.finish };
  }
}
