import { isMessage } from '@gateway/contracts/openai/responses';
import type { CompactionOrder } from '../call/request/requested-compaction.ts';
import type { TextCall } from '../call/request/text-call.ts';
import { isObject } from '../wire/json-object.ts';
import { type CompactedWindow, MAX_SEALED_CHARACTERS } from '../wire/tokens/compaction-seal.ts';
import { type KeptWindow, keptItems, keptMessages, withoutMedia, withShortOutputs } from './kept-window.ts';
import { isSummary } from './shown-window.ts';

/** What is left of a conversation, and the same as its caller gets it: sealed. */
export interface SealedWindow {
  readonly window: CompactedWindow;
  readonly sealed: string;
}

interface Compaction {
  /** The items or messages of the conversation, opened. */
  readonly entries: readonly unknown[];
  readonly order: CompactionOrder;
  readonly summary: string;
}

/** Of the user's earlier messages, in characters; fewer where the conversation is to be short. */
const MAX_EARLIER_CHARACTERS = 80_000;

/** Seals the window that replaces a conversation from now on. */
export function sealWindow(call: TextCall, { entries, order, summary }: Compaction): SealedWindow {
  const { endpoint, history, services } = call;
  // The new summary has the content of the old ones.
  const own = entries.filter((entry) => !isSummary(entry));
  const isBeside = endpoint.operation === 'responses.compact';
  // About a quarter of the threshold, in tokens.
  const maxCharacters = Math.min(MAX_EARLIER_CHARACTERS, order.aboveTokens || MAX_EARLIER_CHARACTERS);
  const kept =
    endpoint.protocol === 'messages' ? keptMessages(own, maxCharacters) : keptItems(own, maxCharacters);
  const window: CompactedWindow = {
    protocol: endpoint.protocol === 'messages' ? 'messages' : 'responses',
    summary,
    ...(isBeside ? withoutUsers(kept) : kept),
    userMessages: isBeside ? 'beside' : 'within',
  };
  const seal = (after: readonly unknown[]) => services.compactions.seal({ ...window, after }, history.owner);
  const sealed = seal(window.after.map(withShortOutputs));
  return {
    window,
    sealed: sealed.length <= MAX_SEALED_CHARACTERS ? sealed : seal(window.after.map(withoutMedia)),
  };
}

/** The user's messages, which the endpoint shows beside its compaction. */
export const isUserMessage = (item: unknown): boolean =>
  isObject(item) && isMessage(item) && item.role === 'user';

const withoutUsers = ({ before, after }: KeptWindow): KeptWindow => ({
  before: before.filter((item) => !isUserMessage(item)),
  after: after.filter((item) => !isUserMessage(item)),
});

const TOOL_CHANGES: ReadonlySet<unknown> = new Set(['tool_addition', 'tool_removal']);

/** What the messages of a conversation change of the tools of its requests, in order. */
export const toolChangesIn = (messages: readonly unknown[]): readonly unknown[] =>
  messages
    .flatMap((message) => (isObject(message) && message.role === 'system' ? message.content : []))
    .filter((block) => isObject(block) && TOOL_CHANGES.has(block.type));
