import { type EarlierItems, holdsCompactions, shownCount, wholeBody } from '../call/history/whole-body.ts';
import { parseBody } from '../wire/raw-json.ts';
import { type DroppedList, droppedList } from './dropped.ts';
import { type ItemColumns, type NamedColumns, namedIn, storedItemsIn } from './item-columns.ts';
import { bufferOf, sharedText } from './shared-bytes.ts';

export interface WholeTask {
  readonly bytes: Uint8Array;
  readonly window: ItemColumns;
  readonly named: NamedColumns;
  readonly earlier: Omit<EarlierItems, 'window' | 'named'>;
}

export interface WholeConversation {
  readonly bytes: Uint8Array;
  readonly dropped: DroppedList;
  readonly holdsCompactions: boolean;
  readonly shownCount: number;
}

/** Writes a request with the whole conversation instead of the ids that it names. @throws {GatewayError} as `wholeBody` */
export function wholeTask({ bytes, window: columns, named, earlier }: WholeTask): WholeConversation {
  const window = storedItemsIn(columns);
  const items = { ...earlier, window, named: namedIn(named) };
  const { body, dropped } = wholeBody(parseBody(bufferOf(bytes).toString()), items);
  return {
    bytes: sharedText(JSON.stringify(body)),
    dropped: droppedList(dropped),
    holdsCompactions: holdsCompactions(window),
    shownCount: shownCount({ window, reader: earlier.reader }),
  };
}
