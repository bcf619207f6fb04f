import { type JsonObject, numberAt, objectAt, textAt } from '../../../wire/json-object.ts';

/** Which item of a response an event belongs to. Servers leave out its index, its id (llama.cpp has only that), or both. */
export class ItemPositions {
  readonly #byId = new Map<string, number>();
  readonly #used = new Set<number>();
  readonly #named = new Set<number>();
  #current = 0;
  #next = 0;

  of(event: JsonObject): number {
    const item = objectAt(event, 'item');
    const id = (item && textAt(item, 'id')) || textAt(event, 'item_id') || null;
    const position = this.#find(
      numberAt(event, 'output_index'),
      id,
      event.type === 'response.output_item.added',
    );
    if (id !== null) {
      this.#byId.set(id, position);
      this.#named.add(position);
    }
    this.#used.add(position);
    this.#next = Math.max(this.#next, position + 1);
    this.#current = position;
    return position;
  }

  /** The position of an item that no event has named. */
  take(): number {
    const position = this.#next;
    this.#next += 1;
    return position;
  }

  #find(index: number | null, id: string | null, isAdded: boolean): number {
    const known = id === null ? undefined : this.#byId.get(id);
    if (index !== null) return isAdded || this.#used.has(index) ? index : (known ?? index);
    if (known !== undefined) return known;
    // The current item may have come without an id.
    const mayBeCurrent = id === null || !this.#named.has(this.#current);
    return !isAdded && mayBeCurrent ? this.#current : this.#next;
  }
}
