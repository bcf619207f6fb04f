import type { StoredItem } from '../stored/store/conversation-store.ts';
import type { ItemJson } from '../stored/store/item-json.ts';
import { MAX_INLINE_BYTES, type NewItem, partDigest } from '../stored/store/window-nodes.ts';
import { bufferOf, sharedBytes, sharedText } from './shared-bytes.ts';

/** Items by their members: a list of texts is handed over in a tenth of the time that a list of objects takes. */
export interface ItemColumns {
  readonly ids: readonly (string | null)[];
  /** Bytes are in memory that both sides have. */
  readonly jsons: readonly (string | Uint8Array)[];
  readonly makers: readonly (string | null)[];
  readonly digests: readonly (string | undefined)[];
}

export const columnsOf = (items: readonly NewItem[]): ItemColumns => ({
  ids: items.map(({ id }) => id),
  jsons: items.map(({ json }) => (typeof json === 'string' ? json : sharedBytes(json))),
  makers: items.map(({ maker = null }) => maker),
  digests: items.map(({ digest }) => digest),
});

export const itemsIn = ({ ids, jsons, makers, digests }: ItemColumns): readonly NewItem[] =>
  jsons.map((json, at) => ({
    id: ids[at] ?? null,
    json: jsonOf(json),
    maker: makers[at] ?? null,
    digest: digests[at],
  }));

const jsonOf = (json: string | Uint8Array): ItemJson => (typeof json === 'string' ? json : bufferOf(json));

export const storedItemsIn = (columns: ItemColumns): readonly (StoredItem & NewItem)[] =>
  itemsIn(columns).map(({ id, maker = null, ...item }) => ({ ...item, id: id ?? '', maker }));

/** Stored items by the ids that a request names them with. */
export interface NamedColumns {
  readonly names: readonly string[];
  readonly items: ItemColumns;
}

export const namedColumns = (named: ReadonlyMap<string, StoredItem>): NamedColumns => ({
  names: [...named.keys()],
  items: columnsOf([...named.values()]),
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
