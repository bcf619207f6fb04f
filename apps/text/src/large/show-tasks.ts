import { framesAfter, replyFrames } from '../protocols/responses/stream/reply-frames.ts';
import { responseOf } from '../stored/response-record.ts';
import { shownItem } from '../stored/shown-item.ts';
import { objectOf } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import { type ItemColumns, storedItemsIn } from './item-columns.ts';
import { sharedText } from './shared-bytes.ts';

export interface ListTask {
  readonly items: ItemColumns;
  /** Of the list, beside its items. */
  readonly members: object;
}

/** Writes a list of stored items. */
export const listTask = ({ items, members }: ListTask): Uint8Array =>
  sharedText(JSON.stringify({ object: 'list', data: storedItemsIn(items).map(shownItem), ...members }));

/** Writes a single one. */
export const itemTask = ({ items }: Pick<ListTask, 'items'>): Uint8Array =>
  sharedText(
    storedItemsIn(items)
      .map((item) => JSON.stringify(shownItem(item)))
      .join(),
  );

export interface StoredTask {
  /** What is stored of the response beside its output, as JSON. */
  readonly data: string;
  readonly output: ItemColumns;
  /** The event after which the response is shown as a stream; null where it is shown whole. */
  readonly after: number | null;
}

/** Writes a stored response. */
export function storedTask({ data, output, after }: StoredTask): Uint8Array {
  const response = responseOf(objectOf(parseBody(data)), storedItemsIn(output));
  if (after === null) return sharedText(JSON.stringify(response));
  return sharedText(framesAfter(replyFrames(response) ?? [], after).join(''));
}
