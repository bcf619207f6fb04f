import { framesAfter, replyFrames } from '../protocols/responses/stream/reply-frames.ts';
import { responseOf } from '../stored/response-record.ts';
import { shownItem } from '../stored/shown-item.ts';
import { objectOf } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import { type ItemColumns, storedItemsIn } from './item-columns.ts';
import { bufferOf, sharedText } from './shared-bytes.ts';

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
  /** What is stored of the response beside its output, as JSON, without its large members. */
  readonly data: string;
  readonly large: readonly LargeMember[];
  readonly output: ItemColumns;
  /** The event after which the response is shown as a stream; null where it is shown whole. */
  readonly after: number | null;
}

/** A member by its name, as JSON. */
interface LargeMember {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Writes a stored response. */
export function storedTask({ data, large, output, after }: StoredTask): Uint8Array {
  const members = large.map(({ name, bytes }) => [name, parseBody(bufferOf(bytes).toString())] as const);
  const whole = { ...objectOf(parseBody(data)), ...Object.fromEntries(members) };
  const response = responseOf(whole, storedItemsIn(output));
  if (after === null) return sharedText(JSON.stringify(response));
  return sharedText(framesAfter(replyFrames(response) ?? [], after).join(''));
}
