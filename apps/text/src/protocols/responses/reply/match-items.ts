import { type JsonObject, textAt } from '../../../wire/json-object.ts';

/** How an item of a response is recognised where it comes again. */
export interface ItemIdentity {
  readonly type: string;
  readonly id: string | null;
  readonly callId: string | null;
}

export const identityOf = (item: JsonObject): ItemIdentity => ({
  type: textAt(item, 'type') ?? '',
  id: textAt(item, 'id') || null,
  callId: textAt(item, 'call_id') || null,
});

/**
 * Finds the items of a final output among those that a stream brought: by their ids, else by their order among those of
 * the same type, because some servers give an item another id in the final event.
 *
 * @param known the items of the stream by their positions, in order
 * @returns the position of each item; null for one that the stream did not bring
 */
export function matchItems(
  known: ReadonlyMap<number, ItemIdentity>,
  items: readonly JsonObject[],
): readonly (number | null)[] {
  const free = new FreePositions(known);
  const identities = items.map(identityOf);
  const byId = identities.map((identity) => free.take(namesOf(identity)));
  return byId.map((position, index) => position ?? free.take([identities[index]?.type ?? '']));
}

/** The names by which an item is found: its ids among items of its type. */
const namesOf = ({ type, id, callId }: ItemIdentity): readonly string[] => [
  ...(id === null ? [] : [`${type} id ${id}`]),
  ...(callId === null ? [] : [`${type} call ${callId}`]),
];

/** Positions under each of their names, in order, until they are taken. */
class FreePositions {
  readonly #positions: readonly number[];
  /** Whether each of them is taken. */
  readonly #taken: boolean[];
  /** Indexes of positions. */
  readonly #queues = new Map<string, { readonly indexes: number[]; next: number }>();

  constructor(known: ReadonlyMap<number, ItemIdentity>) {
    this.#positions = [...known.keys()];
    this.#taken = this.#positions.map(() => false);
    for (const [index, identity] of [...known.values()].entries()) {
      for (const name of [identity.type, ...namesOf(identity)]) {
        const queue = this.#queues.get(name);
        if (queue === undefined) this.#queues.set(name, { indexes: [index], next: 0 });
        else queue.indexes.push(index);
      }
    }
  }

  /** The first position under any of these names. */
  take(names: readonly string[]): number | null {
    const firsts = names.flatMap((name) => this.#first(name) ?? []);
    const first = Math.min(...firsts);
    if (this.#taken[first] === undefined) return null;
    this.#taken[first] = true;
    return this.#positions[first] ?? null;
  }

  #first(name: string): number | undefined {
    const queue = this.#queues.get(name);
    if (queue === undefined) return undefined;
    const { indexes } = queue;
    while (this.#taken[indexes[queue.next] ?? -1]) queue.next += 1;
    return indexes[queue.next];
  }
}
