import { isMessage } from '@gateway/contracts/openai/responses';
import { shownItem } from '../stored/shown-item.ts';
import { newItemId } from '../stored/stored-conversations.ts';
import { isObject, type JsonObject, objectOf, textAt } from '../wire/json-object.ts';
import {
  type CompactedWindow,
  type CompactionSeals,
  MAX_SEALED_CHARACTERS,
} from '../wire/tokens/compaction-seal.ts';
import {
  type KeptWindow,
  keptItems,
  keptMessages,
  withoutMedia,
  withShortOutputs,
  withShortTexts,
} from './kept-window.ts';
import type { OpenedConversation } from './opened-conversation.ts';
import { isSummary, shownItems, shownMessages } from './shown-window.ts';

/** How a conversation is replaced by its summary. */
export interface Sealing {
  readonly summary: string;
  /** The endpoint shows the user's messages beside the compaction. */
  readonly isBeside: boolean;
  /** Of its order; a short conversation is to stay short. */
  readonly aboveTokens: number | null;
  /** Who may open it. */
  readonly owner: string;
}

/** What is left of a conversation, and the same as its caller gets it: sealed. */
export interface SealedWindow {
  readonly window: CompactedWindow;
  readonly sealed: string;
}

/** Of the user's earlier messages, in characters; fewer where the conversation is to be short. */
const MAX_EARLIER_CHARACTERS = 80_000;

/** Seals the window that replaces a conversation from now on. */
export function sealWindow(
  { protocol, entries }: OpenedConversation,
  { summary, isBeside, aboveTokens, owner }: Sealing,
  seals: CompactionSeals,
): SealedWindow {
  // The new summary has the content of the old ones.
  const own = entries.filter((entry) => !isSummary(entry));
  // About a quarter of the threshold, in tokens.
  const maxCharacters = Math.min(MAX_EARLIER_CHARACTERS, aboveTokens || MAX_EARLIER_CHARACTERS);
  const kept = protocol === 'messages' ? keptMessages(own, maxCharacters) : keptItems(own, maxCharacters);
  const window: CompactedWindow = {
    protocol: protocol === 'messages' ? 'messages' : 'responses',
    summary,
    ...(isBeside ? withoutUsers(kept) : kept),
    userMessages: isBeside ? 'beside' : 'within',
  };
  return { window, sealed: sealedShort(window, (later) => seals.seal(later, owner)) };
}

type Shorten = (after: readonly unknown[]) => readonly unknown[];

/** The last step as later turns see it, until it is short enough to be sent with each of them: the summary has it as well. */
const LATER_FORMS: readonly Shorten[] = [
  (after) => after.map(withShortOutputs),
  (after) => after.map(withoutMedia),
  (after) => after.map(withShortTexts),
  () => [],
];

function sealedShort(window: CompactedWindow, seal: (later: CompactedWindow) => string): string {
  let { after } = window;
  let sealed = '';
  for (const shorten of LATER_FORMS) {
    after = shorten(after);
    sealed = seal({ ...window, after });
    if (sealed.length <= MAX_SEALED_CHARACTERS) break;
  }
  return sealed;
}

/** The request with the window instead of its conversation. */
export const withWindow = ({ protocol, body }: OpenedConversation, window: CompactedWindow): JsonObject =>
  protocol === 'messages'
    ? { ...body, messages: shownMessages(window) }
    : { ...body, input: shownItems(window) };

/** The answer of `POST /v1/responses/compact`: the user's messages, and one item for all the rest. */
export function besideWindow(
  { entries }: OpenedConversation,
  sealed: string,
  { head, end, itemId }: BesideMembers,
): JsonObject {
  const users = entries
    .filter((item) => isUserMessage(item) && !isSummary(item))
    .map((item) =>
      shownItem({ id: textAt(objectOf(item), 'id') ?? newItemId('message'), json: JSON.stringify(item) }),
    );
  const item = { id: itemId, type: 'compaction', encrypted_content: sealed };
  return { ...head, output: [...users, item], ...end };
}

/** What such an answer has beside its output. */
export interface BesideMembers {
  readonly head: JsonObject;
  readonly end: JsonObject;
  readonly itemId: string;
}

/** The user's messages, which the endpoint shows beside its compaction. */
const isUserMessage = (item: unknown): boolean => isObject(item) && isMessage(item) && item.role === 'user';

const withoutUsers = ({ before, after }: KeptWindow): KeptWindow => ({
  before: before.filter((item) => !isUserMessage(item)),
  after: after.filter((item) => !isUserMessage(item)),
});

const TOOL_CHANGES: ReadonlySet<unknown> = new Set(['tool_addition', 'tool_removal']);

/** What the messages of a conversation change of the tools of its requests, in order. */
export const toolChangesIn = ({ protocol, entries }: OpenedConversation): readonly unknown[] =>
  protocol !== 'messages'
    ? []
    : entries
        .flatMap((message) => (isObject(message) && message.role === 'system' ? message.content : []))
        .filter((block) => isObject(block) && TOOL_CHANGES.has(block.type));
