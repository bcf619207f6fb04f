import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import type {
  Claim,
  ConversationStore,
  RecordKey,
  StoredItem,
  StoredRecord,
} from '../stored/conversations/conversation-store.ts';
import type { ConversationSpace } from '../stored/conversations/conversations.ts';
import { holdClaim } from '../stored/conversations/held-claim.ts';
import { newId } from '../wire/new-id.ts';
import { conversationLocked, conversationNotFound, conversationsFull } from './conversation-errors.ts';

const ConversationData = z.object({ createdAt: z.number(), metadata: z.record(z.string(), z.string()) });
type ConversationData = z.infer<typeof ConversationData>;

/** A conversation without its items. */
export interface KeptConversation extends ConversationData {
  readonly id: string;
}

/** An item with an id of its own, and its text without. */
export interface ConversationItem {
  readonly id: string;
  readonly json: string;
}

/** What a conversation becomes; null leaves it as it is. */
interface Changed {
  readonly metadata?: ConversationData['metadata'];
  /** Behind those that there are. */
  readonly added?: readonly ConversationItem[];
  /** In the place of those that there are. */
  readonly items?: readonly ConversationItem[];
}

/** The conversations of one owner. All throw `service_unavailable` where the store cannot be reached. */
export interface KeptConversations {
  create(
    items: readonly ConversationItem[],
    metadata: ConversationData['metadata'],
  ): Promise<KeptConversation>;
  /** Null for an unknown one, and for another owner's. */
  find(id: string): Promise<KeptConversation | null>;
  items(id: string): Promise<readonly StoredItem[] | null>;
  /** Items that the owner has anywhere, by their ids, in the order of the ids; null for those that there are not. */
  named(ids: readonly string[]): Promise<readonly (StoredItem | null)[]>;
  /** @throws {GatewayError} `object_not_found`, `conversation_locked`, `storage_full` */
  change(id: string, change: (items: readonly StoredItem[]) => Changed): Promise<KeptConversation>;
  remove(id: string): Promise<boolean>;
  /**
   * The head of a conversation, for as long as something works on it.
   *
   * @throws {GatewayError} `conversation_locked` where something else does
   */
  lock(id: string): Promise<Pick<Claim, 'release'>>;
}

const MS_PER_SECOND = 1000;
/** Reading and writing again takes milliseconds. */
const [CHANGE_LEASE_MS, CHANGE_RETRY_MS, MAX_CHANGE_TRIES] = [10_000, 20, 100];
const MAX_ID_CHARACTERS = 512;

export const keptConversations = (
  store: ConversationStore,
  { owner, maxBytes }: ConversationSpace,
): KeptConversations => {
  const keyOf = (id: string): RecordKey => ({ owner, kind: 'conversation', id });
  const read = async (id: string, withItems: boolean) => {
    if (id.length > MAX_ID_CHARACTERS || id.includes('\0')) return null;
    const options = { retentionMs: null, ...(withItems && { items: 'window' as const }) };
    return store.read(keyOf(id), options);
  };
  const put = (
    id: string,
    data: ConversationData,
    { before, items }: { readonly before: StoredRecord | null; readonly items: readonly ConversationItem[] },
  ) =>
    store.put({
      ...keyOf(id),
      ...(before !== null && { after: before }),
      input: items,
      output: [],
      data: { ...data },
      retentionMs: null,
      maxBytes,
    });

  const changeNow = async (
    id: string,
    change: (items: readonly StoredItem[]) => Changed,
  ): Promise<KeptConversation> => {
    const found = await read(id, true);
    if (found === null) throw conversationNotFound(id);
    const data = ConversationData.parse(found.record.data);
    const { metadata = data.metadata, added = [], items } = change(found.items);
    const changed = { ...data, metadata };
    const written = items === undefined ? { before: found.record, items: added } : { before: null, items };
    const result = await put(id, changed, written);
    if (result !== 'stored') throw conversationsFull();
    return { id, ...changed };
  };

  return {
    create: async (items, metadata) => {
      const id = newId('conv_');
      const data = { createdAt: Math.floor(Date.now() / MS_PER_SECOND), metadata };
      const result = await put(id, data, { before: null, items });
      if (result !== 'stored') throw conversationsFull();
      return { id, ...data };
    },
    find: async (id) => {
      const found = await read(id, false);
      return found && { id, ...ConversationData.parse(found.record.data) };
    },
    items: async (id) => (await read(id, true))?.items ?? null,
    named: (ids) => store.items(owner, ids),
    change: async (id, change) => {
      for (let tries = 0; tries < MAX_CHANGE_TRIES; tries += 1) {
        const claim = await store.claim(owner, `change:${id}`, CHANGE_LEASE_MS);
        if (claim === null) {
          await setTimeout(CHANGE_RETRY_MS);
          continue;
        }
        try {
          return await changeNow(id, change);
        } finally {
          await claim.release().catch(() => undefined);
        }
      }
      throw conversationLocked();
    },
    remove: (id) => (id.length > MAX_ID_CHARACTERS ? Promise.resolve(false) : store.remove(keyOf(id))),
    lock: async (id) => {
      const claim = await holdClaim(store, owner, `conversation:${id}`);
      if (claim === null) throw conversationLocked();
      return claim;
    },
  };
};
