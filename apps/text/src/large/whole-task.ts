import { type EarlierItems, holdsCompactions, shownCount, wholeBody } from '../call/history/whole-body.ts';
import { parseBody } from '../wire/raw-json.ts';
import { type DroppedList, droppedList } from './dropped.ts';
import { bufferOf, sharedText } from './shared-bytes.ts';

export interface WholeTask {
  readonly bytes: Uint8Array;
  /** The items of the window: lists of texts are handed over in a tenth of the time that objects take. */
  readonly jsons: readonly string[];
  readonly makers: readonly (string | null)[];
  readonly earlier: Omit<EarlierItems, 'window'>;
}

export interface WholeConversation {
  readonly bytes: Uint8Array;
  readonly dropped: DroppedList;
  readonly holdsCompactions: boolean;
  readonly shownCount: number;
}

/** Writes a request with the whole conversation instead of the ids that it names. @throws {GatewayError} as `wholeBody` */
export function wholeTask({ bytes, jsons, makers, earlier }: WholeTask): WholeConversation {
  const window = jsons.map((json, at) => ({ json, maker: makers[at] ?? null }));
  const { body, dropped } = wholeBody(parseBody(bufferOf(bytes).toString()), { ...earlier, window });
  return {
    bytes: sharedText(JSON.stringify(body)),
    dropped: droppedList(dropped),
    holdsCompactions: holdsCompactions(window),
    shownCount: shownCount({ window, reader: earlier.reader }),
  };
}
