import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import type { ConversationSpace } from '../call/conversation-space.ts';
import type {
  Claim,
  ConversationStore,
  NewRecord,
  StoredItem,
} from '../stored/conversations/conversation-store.ts';
import { holdClaim } from '../stored/conversations/held-claim.ts';
import { newId } from '../wire/new-id.ts';
import {
  conversationLocked,
  conversationNotFound,
  conversationsFull,
  notWritten,
} from './conversation-errors.ts';

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

type ChangeOf = (items: readonly StoredItem[]) => Changed;

/** The conversations that one caller may see. All throw `service_unavailable` where the store cannot be reached. */
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
  change(id: string, change: ChangeOf): Promise<KeptConversation>;
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
  { owner: newOwner, owners, maxBytes }: ConversationSpace,
): KeptConversations => {
  const read = async (id: string, withItems: boolean) => {
    if (!isId(id)) return null;
    const options = { retentionMs: null, ...(withItems && { items: 'window' as const }) };
    for (const owner of owners) {
      const found = await store.read({ owner, kind: 'conversation', id }, options);
      if (found !== null) return { ...found, owner, data: ConversationData.parse(found.record.data) };
    }
    return null;
  };

  /** @throws {GatewayError} `storage_full` */
  const put = async (record: Pick<NewRecord, 'owner' | 'id' | 'after' | 'input'>, data: ConversationData) => {
    const whole = { ...record, kind: 'conversation', output: [], data: { ...data }, maxBytes } as const;
    const result = await store.put({ ...whole, retentionMs: null }).catch(notWritten);
    if (result !== 'stored') throw conversationsFull();
  };

  const changeNow = async (id: string, change: ChangeOf): Promise<KeptConversation> => {
    const found = await read(id, true);
    if (found === null) throw conversationNotFound(id);
    const { owner, data, record } = found;
    const { metadata = data.metadata, added = [], items } = change(found.items);
    const changed = { ...data, metadata };
    await put(
      { owner, id, ...(items === undefined ? { after: record, input: added } : { input: items }) },
      changed,
    );
    return { id, ...changed };
  };

  return {
    create: async (items, metadata) => {
      const id = newId('conv_');
      const data = { createdAt: Math.floor(Date.now() / MS_PER_SECOND), metadata };
      await put({ owner: newOwner, id, input: items }, data);
      return { id, ...data };
    },
    find: async (id) => {
      const found = await read(id, false);
      return found && { id, ...found.data };
    },
    items: async (id) => (await read(id, true))?.items ?? null,
    named: async (ids) => {
      const lists = await Promise.all(owners.map((owner) => store.items(owner, ids)));
      return ids.map(
        (_, index) => lists.map((list) => list[index] ?? null).find((item) => item !== null) ?? null,
      );
    },
    change: async (id, change) => {
      if (!isId(id)) throw conversationNotFound(id);
      for (let tries = 0; tries < MAX_CHANGE_TRIES; tries += 1) {
        const claim = await store.claim(newOwner, `change:${id}`, CHANGE_LEASE_MS);
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
    remove: async (id) => {
      if (!isId(id)) return false;
      for (const owner of owners) if (await store.remove({ owner, kind: 'conversation', id })) return true;
      return false;
    },
    lock: async (id) => {
      if (!isId(id)) throw conversationNotFound(id);
      const claim = await holdClaim(store, newOwner, `conversation:${id}`);
      if (claim === null) throw conversationLocked();
      return claim;
    },
  };
};

/** What is no id names nothing. */
const isId = (id: string): boolean => id.length <= MAX_ID_CHARACTERS && !id.includes('\0');
