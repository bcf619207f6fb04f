import { sealPayload } from '../../../neutral/encoding/sealed-reasoning.ts';
import type { OpaquePayload } from '../../../neutral/parts.ts';
import type { AnswerContext } from '../../../neutral/target.ts';
import type { Emit, ItemWriter, Position } from './item-writer.ts';

/** Reasoning: a summary in parts, or the trace of an open-weight model. */
export class ReasoningWriter implements ItemWriter {
  readonly kind = 'reasoning';
  readonly #position: Position;
  readonly #form: 'summary' | 'trace';
  readonly #context: AnswerContext;
  readonly #emit: Emit;
  readonly #texts: string[] = [];
  #isOpen = false;
  #seal: string | undefined;

  constructor(position: Position, form: 'summary' | 'trace', context: AnswerContext, emit: Emit) {
    this.#position = position;
    this.#form = form;
    this.#context = context;
    this.#emit = emit;
  }

  delta(text: string): void {
    if (!this.#isOpen) this.#begin();
    this.#texts[this.#index] += text;
    const event = { ...this.#at, delta: text };
    this.#emit(
      this.#isTrace ? 'response.reasoning_text.delta' : 'response.reasoning_summary_text.delta',
      event,
    );
  }

  /** Ends the current part; the next delta begins another. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const text = this.#texts[this.#index] ?? '';
    const done = { ...this.#at, text };
    this.#emit(this.#isTrace ? 'response.reasoning_text.done' : 'response.reasoning_summary_text.done', done);
    const part = this.#part(text);
    this.#emit(this.#isTrace ? 'response.content_part.done' : 'response.reasoning_summary_part.done', {
      ...this.#at,
      part,
    });
  }

  /** OpenAI's own seal goes out as it is, every other as a token; a plain trace gets one where the caller requests it. */
  seal(payload: OpaquePayload | undefined): void {
    const { tokens, plan } = this.#context;
    if (payload?.vendor === 'openai' && payload.kind === 'encrypted') this.#seal = payload.data;
    else if (payload !== undefined) this.#seal = sealPayload(tokens, payload);
    else if (this.#isTrace && plan.showEncryptedReasoning) {
      this.#seal = sealPayload(tokens, { vendor: 'open', kind: 'trace', data: '' }, this.#texts);
    }
  }

  snapshot(): object {
    const parts = this.#texts.map((text) => this.#part(text));
    const shown = this.#isTrace ? { summary: [], content: parts } : { summary: parts };
    const seal = this.#seal === undefined ? {} : { encrypted_content: this.#seal };
    return { id: this.#position.item_id, type: 'reasoning', ...shown, ...seal };
  }

  get #isTrace(): boolean {
    return this.#form === 'trace';
  }

  get #index(): number {
    return this.#texts.length - 1;
  }

  get #at() {
    return this.#isTrace
      ? { ...this.#position, content_index: this.#index }
      : { ...this.#position, summary_index: this.#index };
  }

  #part(text: string): object {
    return { type: this.#isTrace ? 'reasoning_text' : 'summary_text', text };
  }

  #begin(): void {
    this.#isOpen = true;
    this.#texts.push('');
    const type = this.#isTrace ? 'response.content_part.added' : 'response.reasoning_summary_part.added';
    this.#emit(type, { ...this.#at, part: this.#part('') });
  }
}
