interface Placed {
  /** Where in the list; before it is added, -1. */
  place: number;
}

/** The requests on their way at this moment. */
export interface Underway<Item extends Placed> {
  add(item: Item): void;
  /** Does nothing for one that is not there. */
  remove(item: Item): void;
  has(item: Item): boolean;
  /** As they are now; what is done with them may remove them. */
  all(): readonly Item[];
}

/**
 * Every request knows its place in one array, and leaving swaps the last one into it. (A `Set` would be simpler, but
 * V8's sets and maps are chains: each outgrown table points to the next one. Once one of them has become old, every
 * request that a later table held survives young collection; measured, half of all processor time went into that.)
 */
export function createUnderway<Item extends Placed>(): Underway<Item> {
  const list: Item[] = [];
  const has = (item: Item) => list[item.place] === item;
  return {
    has,
    all: () => [...list],
    add: (item) => {
      item.place = list.push(item) - 1;
    },
    remove: (item) => {
      if (!has(item)) return;
      const last = list.pop();
      if (last === undefined || last === item) return;
      list[item.place] = last;
      last.place = item.place;
    },
  };
}
