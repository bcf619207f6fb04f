import type { Citation } from '../../../neutral/parts.ts';
import { encodeAnnotation } from '../reply/annotations.ts';
import type { Emit, ItemStatus, ItemWriter, Position } from './item-writer.ts';

/** A message: texts that follow one another share one part, so that offsets count through all of them. */
export class MessageWriter implements ItemWriter {
  readonly kind = 'message';
  readonly #position: Position;
  readonly #emit: Emit;
  readonly #content: object[] = [];
  #type: 'output_text' | 'refusal' | null = null;
  #text = '';
  #annotations: object[] = [];
  #logprobs: unknown[] = [];
  /** Where the current text begins within the part. */
  #base = 0;

  constructor(position: Position, emit: Emit) {
    this.#position = position;
    this.#emit = emit;
  }

  /** Another text or refusal begins. */
  begin(type: 'output_text' | 'refusal'): void {
    if (this.#type !== type) {
      this.close();
      this.#type = type;
      this.#emit('response.content_part.added', { ...this.#at, part: this.#part });
    }
    this.#base = this.#text.length;
  }

  delta(text: string, logprobs: readonly unknown[] = []): void {
    this.#text += text;
    this.#logprobs.push(...logprobs);
    if (this.#type === 'refusal') this.#emit('response.refusal.delta', { ...this.#at, delta: text });
    else this.#emit('response.output_text.delta', { ...this.#at, delta: text, logprobs });
  }

  citation(citation: Citation): void {
    const annotation = encodeAnnotation(citation, this.#base);
    if (annotation === null) return;
    const index = this.#annotations.push(annotation) - 1;
    const event = { ...this.#at, annotation_index: index, annotation };
    this.#emit('response.output_text.annotation.added', event);
  }

  close(): void {
    if (this.#type === null) return;
    if (this.#type === 'refusal') this.#emit('response.refusal.done', { ...this.#at, refusal: this.#text });
    else {
      const done = { ...this.#at, text: this.#text, logprobs: this.#logprobs };
      this.#emit('response.output_text.done', done);
    }
    const part = this.#part;
    this.#emit('response.content_part.done', { ...this.#at, part });
    this.#content.push(part);
    this.#type = null;
    this.#text = '';
    this.#annotations = [];
    this.#logprobs = [];
  }

  snapshot(status: ItemStatus): object {
    const open = this.#type === null ? [] : [this.#part];
    const content = [...this.#content, ...open];
    return { id: this.#position.item_id, type: 'message', status, role: 'assistant', content };
  }

  get #at() {
    return { ...this.#position, content_index: this.#content.length };
  }

  get #part(): object {
    return this.#type === 'refusal'
      ? { type: 'refusal', refusal: this.#text }
      : {
          type: 'output_text',
          text: this.#text,
          annotations: [...this.#annotations],
          logprobs: [...this.#logprobs],
        };
  }
}
