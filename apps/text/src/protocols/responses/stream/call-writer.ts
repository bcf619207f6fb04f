import type { Emit, ItemStatus, ItemWriter, Position } from './item-writer.ts';

/** A tool call. Free-text tools have an item type and events of their own. */
export class CallWriter implements ItemWriter {
  readonly kind = 'call';
  readonly #position: Position;
  readonly #identity: { call_id: string; name: string; namespace?: string };
  readonly #emit: Emit;
  readonly custom: boolean;
  text = '';

  constructor(
    position: Position,
    identity: { call_id: string; name: string; namespace?: string },
    custom: boolean,
    emit: Emit,
  ) {
    this.#position = position;
    this.#identity = identity;
    this.custom = custom;
    this.#emit = emit;
  }

  delta(text: string): void {
    this.text += text;
    const type = this.custom
      ? 'response.custom_tool_call_input.delta'
      : 'response.function_call_arguments.delta';
    this.#emit(type, { ...this.#position, delta: text });
  }

  close(): void {
    if (this.custom)
      this.#emit('response.custom_tool_call_input.done', { ...this.#position, input: this.text });
    else {
      const { name } = this.#identity;
      this.#emit('response.function_call_arguments.done', { ...this.#position, name, arguments: this.text });
    }
  }

  snapshot(status: ItemStatus): object {
    const type = this.custom ? 'custom_tool_call' : 'function_call';
    const content = this.custom ? { input: this.text } : { arguments: this.text };
    return { id: this.#position.item_id, type, status, ...this.#identity, ...content };
  }
}
