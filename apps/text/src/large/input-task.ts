import { inputItems } from '../stored/response-record.ts';
import type { StoredItem } from '../stored/store/conversation-store.ts';
import type { NewItem } from '../stored/store/window-nodes.ts';
import { parseBody } from '../wire/raw-json.ts';
import { bufferOf } from './shared-bytes.ts';

export interface InputTask {
  readonly bytes: Uint8Array;
  readonly referred: ReadonlyMap<string, StoredItem>;
}

/** Items by their members: a list of texts is handed over in a tenth of the time that a list of objects takes. */
export interface ItemColumns {
  readonly ids: readonly (string | null)[];
  readonly jsons: readonly string[];
  readonly makers: readonly (string | null)[];
}

export const columnsOf = (items: readonly NewItem[]): ItemColumns => ({
  ids: items.map(({ id }) => id),
  jsons: items.map(({ json }) => json),
  makers: items.map(({ maker = null }) => maker),
});

export const itemsIn = ({ ids, jsons, makers }: ItemColumns): readonly NewItem[] =>
  jsons.map((json, at) => ({ id: ids[at] ?? null, json, maker: makers[at] ?? null }));

/** The own input of a request's body as items to store. */
export const inputTask = ({ bytes, referred }: InputTask): ItemColumns =>
  columnsOf(inputItems(parseBody(bufferOf(bytes).toString()), referred));
