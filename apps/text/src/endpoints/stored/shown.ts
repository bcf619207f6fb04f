import { inThread } from '../../large/in-thread.ts';
import { columnsInTurns, columnsOf } from '../../large/item-columns.ts';
import type { MaybePromise } from '../../large/maybe-promise.ts';
import { bufferOf, isLarge } from '../../large/shared-bytes.ts';
import { shownItem } from '../../stored/shown-item.ts';
import type { NewItem } from '../../stored/store/window-nodes.ts';

/** What is answered as JSON: an object, or the bytes of one that is too large to be written in the event loop. */
export type Shown = object | Buffer;

type NamedItem = NewItem & { readonly id: string };

/** Whether items are so large that the thread has to read them. */
export const areLarge = (items: readonly Pick<NewItem, 'json'>[]): boolean =>
  isLarge(items.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0));

/** A list of items. @param owner who waits for it */
export function shownList(items: readonly NamedItem[], members: object, owner: string): MaybePromise<Shown> {
  if (!areLarge(items)) return { object: 'list', data: items.map(shownItem), ...members };
  return columnsInTurns(items)
    .then((columns) => inThread('list', { items: columns, members }, { owner }))
    .then(bufferOf);
}

/** A single one. */
export function shownAlone(item: NamedItem, owner: string): MaybePromise<Shown> {
  if (!areLarge([item])) return shownItem(item);
  return inThread('item', { items: columnsOf([item]) }, { owner }).then(bufferOf);
}
