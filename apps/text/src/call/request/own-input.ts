import { inThread } from '../../large/in-thread.ts';
import { itemsIn, namedColumns } from '../../large/item-columns.ts';
import type { MaybePromise } from '../../large/maybe-promise.ts';
import { isLarge, sharedBytes } from '../../large/shared-bytes.ts';
import { inputItems } from '../../stored/response-record.ts';
import type { NewItem } from '../../stored/store/window-nodes.ts';
import { parseBody } from '../../wire/raw-json.ts';
import { type OpenedCall, waitingFor } from './text-call.ts';

/** A request's own input as items to store, with the items that it refers to instead of its references. */
export function ownInput(call: OpenedCall): MaybePromise<readonly NewItem[]> {
  const { request, history } = call;
  const { bytes, large } = request;
  if (large === null && !isLarge(bytes.length)) return inputItems(parseBody(bytes.toString()), history.items);
  return largeInput(call);
}

async function largeInput(call: OpenedCall): Promise<readonly NewItem[]> {
  const { request, history } = call;
  const referred = await namedColumns(history.items);
  const task = { bytes: sharedBytes(request.bytes), referred, owner: history.owner };
  // It is stored although its caller may have left.
  const { owner } = waitingFor(call);
  return itemsIn(await inThread('input', task, { owner }));
}
