import type { Emit, ItemStatus, ItemWriter, Place } from './item-writer.ts';

/** A tool call. Free-text tools have an item type and events of their own. */
export class CallWriter implements ItemWriter {
  readonly kind = 'call';
  readonly #place: Place;
  readonly #identity: { call_id: string; name: string; namespace?: string };
  readonly #emit: Emit;
  readonly custom: boolean;
  text = '';

  constructor(
    place: Place,
    identity: { call_id: string; name: string; namespace?: string },
    custom: boolean,
    emit: Emit,
  ) {
    this.#place = place;
    this.#identity = identity;
    this.custom = custom;
    this.#emit = emit;
  }

  delta(text: string): void {
    this.text += text;
    const type = this.custom
      ? 'response.custom_tool_call_input.delta'
      : 'response.function_call_arguments.delta';
    this.#emit(type, { ...this.#place, delta: text });
  }

  close(): void {
    if (this.custom) this.#emit('response.custom_tool_call_input.done', { ...this.#place, input: this.text });
    else {
      const { name } = this.#identity;
      this.#emit('response.function_call_arguments.done', { ...this.#place, name, arguments: this.text });
    }
  }

  snapshot(status: ItemStatus): object {
    const type = this.custom ? 'custom_tool_call' : 'function_call';
    const said = this.custom ? { input: this.text } : { arguments: this.text };
    return { id: this.#place.item_id, type, status, ...this.#identity, ...said };
  }
}
