import { type TurnHead, turnHead, turnMessages } from '../call/history/threads/turn-body.ts';
import { wholeRequest, withoutThread } from '../call/history/threads/whole-request.ts';
import { parseItem } from '../stored/store/item-json.ts';
import { partDigest } from '../stored/store/window-nodes.ts';
import { type JsonObject, objectOf } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import { type ItemColumns, itemsIn, storableColumns } from './item-columns.ts';
import { bufferOf, isLarge, sharedText } from './shared-bytes.ts';

/** The body of a thread's turn. */
interface TurnBody {
  readonly bytes: Uint8Array;
}
const bodyOf = ({ bytes }: TurnBody): JsonObject => objectOf(parseBody(bufferOf(bytes).toString()));

export interface TurnTask extends TurnBody {
  readonly headers: { readonly 'anthropic-beta'?: string };
  /** Whose thread it is. */
  readonly owner: string;
}

/** What such a body says of its thread, and what of it the thread has from then on. */
export interface ReadTurn extends TurnHead {
  readonly system: MemberJson;
  readonly tools: MemberJson;
}

/** The JSON of a member; of a large one its bytes. */
export interface MemberJson {
  readonly json: string | Uint8Array;
  readonly digest?: string;
}

export function turnTask(task: TurnTask): ReadTurn {
  const body = bodyOf(task);
  const { system = null, tools = null } = body;
  const written = (value: unknown) => memberJson(task.owner, JSON.stringify(value));
  return { ...turnHead(body, task.headers), system: written(system), tools: written(tools) };
}

function memberJson(owner: string, json: string): MemberJson {
  if (!isLarge(json.length)) return { json };
  const bytes = sharedText(json);
  return { json: bytes, digest: partDigest(owner, bytes) };
}

export interface ThreadTask extends TurnBody {
  /** What comes before the turn; null for the first one. */
  readonly thread: {
    readonly messages: ItemColumns;
    readonly system: MemberJson['json'];
    readonly tools: MemberJson['json'];
  } | null;
}

/** Writes the request that a turn would be without a thread. */
export function threadTask({ thread, ...turn }: ThreadTask): Uint8Array {
  const body = bodyOf(turn);
  if (thread === null) return sharedText(JSON.stringify(withoutThread(body)));
  const before = {
    messages: itemsIn(thread.messages).map(({ json }) => parseItem(json)),
    system: memberIn(thread.system),
    tools: memberIn(thread.tools),
  };
  return sharedText(JSON.stringify(wholeRequest(body, before)));
}

const memberIn = (json: MemberJson['json']): unknown =>
  parseBody(typeof json === 'string' ? json : bufferOf(json).toString());

export interface MessagesTask extends TurnBody {
  /** Whose messages they are to be. */
  readonly owner: string;
}

/** The messages that a turn adds, as items to store. */
export const messagesTask = ({ owner, ...turn }: MessagesTask): ItemColumns =>
  storableColumns(owner, turnMessages(bodyOf(turn)));
