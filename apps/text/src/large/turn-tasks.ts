import { type TurnHead, turnHead, turnMessages } from '../call/history/threads/turn-body.ts';
import { wholeRequest, withoutThread } from '../call/history/threads/whole-request.ts';
import { parseItem } from '../stored/store/item-json.ts';
import { type JsonObject, objectOf } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import { type ItemColumns, itemsIn, storableColumns } from './item-columns.ts';
import { bufferOf, sharedText } from './shared-bytes.ts';

/** The body of a thread's turn. */
interface TurnBody {
  readonly bytes: Uint8Array;
}
const bodyOf = ({ bytes }: TurnBody): JsonObject => objectOf(parseBody(bufferOf(bytes).toString()));

export interface TurnTask extends TurnBody {
  readonly headers: { readonly 'anthropic-beta'?: string };
}

/** What such a body says of its thread, and what of it the thread has from then on, as JSON. */
export interface ReadTurn extends TurnHead {
  readonly system: string;
  readonly tools: string;
}

export function turnTask(task: TurnTask): ReadTurn {
  const body = bodyOf(task);
  const { system = null, tools = null } = body;
  return { ...turnHead(body, task.headers), system: JSON.stringify(system), tools: JSON.stringify(tools) };
}

export interface ThreadTask extends TurnBody {
  /** What comes before the turn; null for the first one. */
  readonly thread: { readonly messages: ItemColumns; readonly system: string; readonly tools: string } | null;
}

/** Writes the request that a turn would be without a thread. */
export function threadTask({ thread, ...turn }: ThreadTask): Uint8Array {
  const body = bodyOf(turn);
  if (thread === null) return sharedText(JSON.stringify(withoutThread(body)));
  const before = {
    messages: itemsIn(thread.messages).map(({ json }) => parseItem(json)),
    system: parseBody(thread.system),
    tools: parseBody(thread.tools),
  };
  return sharedText(JSON.stringify(wholeRequest(body, before)));
}

export interface MessagesTask extends TurnBody {
  /** Whose messages they are to be. */
  readonly owner: string;
}

/** The messages that a turn adds, as items to store. */
export const messagesTask = ({ owner, ...turn }: MessagesTask): ItemColumns =>
  storableColumns(owner, turnMessages(bodyOf(turn)));
