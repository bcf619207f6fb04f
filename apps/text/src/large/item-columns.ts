import { setImmediate } from 'node:timers/promises';
import type { StoredItem } from '../stored/store/conversation-store.ts';
import type { ItemJson } from '../stored/store/item-json.ts';
import { MAX_INLINE_BYTES, type NewItem, partDigest } from '../stored/store/window-nodes.ts';
import { bufferOf, sharedText } from './shared-bytes.ts';

/**
 * Items by their members. Their JSON lies in memory that both sides have: thousands of texts take longer to be handed over than
 * to be read.
 */
export interface ItemColumns {
  readonly ids: readonly (string | null)[];
  readonly makers: readonly (string | null)[];
  readonly digests: readonly (string | undefined)[];
  /** Large ones; null for those that are in `packed`. */
  readonly large: readonly (Uint8Array | null)[];
  /** The JSON of the others, one after the other, and where each of them ends. */
  readonly packed: Uint8Array;
  readonly ends: readonly number[];
}

/** @param items for which nothing else has to be done meanwhile */
export function columnsOf(items: readonly NewItem[]): ItemColumns {
  const packing = new Packing(items);
  for (const item of items) packing.add(item);
  return packing.columns;
}

/** Packed in one turn of the event loop. */
const BYTES_PER_TURN = 2 * 1024 * 1024;

/** The same in several turns of the event loop where it is much. */
export async function columnsInTurns(items: readonly NewItem[]): Promise<ItemColumns> {
  const packing = new Packing(items);
  let turnEnd = BYTES_PER_TURN;
  for (const item of items) {
    packing.add(item);
    if (packing.end < turnEnd) continue;
    turnEnd = packing.end + BYTES_PER_TURN;
    await setImmediate();
  }
  return packing.columns;
}

class Packing {
  end = 0;
  readonly #items: readonly NewItem[];
  readonly #packed: Buffer;
  readonly #ends: number[] = [];

  constructor(items: readonly NewItem[]) {
    this.#items = items;
    const sizeBytes = items.reduce(
      (sum, { json }) => sum + (apartOf(json) === null ? Buffer.byteLength(json) : 0),
      0,
    );
    this.#packed = Buffer.from(new SharedArrayBuffer(sizeBytes));
  }

  add({ json }: NewItem): void {
    if (typeof json === 'string') this.end += this.#packed.write(json, this.end);
    else if (apartOf(json) === null) this.end += json.copy(this.#packed, this.end);
    this.#ends.push(this.end);
  }

  get columns(): ItemColumns {
    return {
      ids: this.#items.map(({ id }) => id),
      makers: this.#items.map(({ maker = null }) => maker),
      digests: this.#items.map(({ digest }) => digest),
      large: this.#items.map(({ json }) => apartOf(json)),
      packed: this.#packed,
      ends: this.#ends,
    };
  }
}

/** What is in shared memory already stays where it is. */
const apartOf = (json: ItemJson): Buffer | null =>
  Buffer.isBuffer(json) && json.buffer instanceof SharedArrayBuffer ? json : null;

export const itemsIn = ({ ids, makers, digests, large, packed, ends }: ItemColumns): readonly NewItem[] => {
  const bytes = bufferOf(packed);
  return large.map((apart, at) => ({
    id: ids[at] ?? null,
    json: apart === null ? bytes.subarray(ends[at - 1] ?? 0, ends[at]) : bufferOf(apart),
    maker: makers[at] ?? null,
    digest: digests[at],
  }));
};

export const storedItemsIn = (columns: ItemColumns): readonly (StoredItem & NewItem)[] =>
  itemsIn(columns).map(({ id, maker = null, ...item }) => ({ ...item, id: id ?? '', maker }));

/** Stored items by the ids that a request names them with. */
export interface NamedColumns {
  readonly names: readonly string[];
  readonly items: ItemColumns;
}

export const namedColumns = async (named: ReadonlyMap<string, StoredItem>): Promise<NamedColumns> => ({
  names: [...named.keys()],
  items: await columnsInTurns([...named.values()]),
});

export function namedIn({ names, items }: NamedColumns): ReadonlyMap<string, StoredItem> {
  const stored = storedItemsIn(items);
  return new Map(
    names.flatMap((name, at) => (stored[at] === undefined ? [] : [[name, stored[at]] as const])),
  );
}

/** Items with all that it takes to store them for an owner: nothing is left to be done that costs by their bytes. */
export const storableColumns = (owner: string, items: readonly NewItem[]): ItemColumns =>
  columnsOf(items.map((item) => storable(owner, item)));

function storable(owner: string, item: NewItem): NewItem {
  if (Buffer.byteLength(item.json) <= MAX_INLINE_BYTES) return { ...item, json: String(item.json) };
  const json = typeof item.json === 'string' ? sharedText(item.json) : item.json;
  return { ...item, json, digest: partDigest(owner, json) };
}

export interface DigestTask {
  readonly owner: string;
  readonly bytes: Uint8Array;
}

/** What identifies a stored part among its owner's. */
export const digestTask = ({ owner, bytes }: DigestTask): string => partDigest(owner, bufferOf(bytes));
