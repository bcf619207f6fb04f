import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { objectOf, textAt } from '../wire/json-object.ts';
import { newId } from '../wire/tokens/new-id.ts';
import {
  conversationLocked,
  conversationNotFound,
  conversationsFull,
  conversationTooLong,
  itemNotFound,
  notWritten,
} from './conversation-errors.ts';
import type {
  Claim,
  ConversationStore,
  NewRecord,
  StoredItem,
  WindowEnd,
} from './store/conversation-store.ts';
import { holdClaim } from './store/held-claim.ts';
import { type ItemJson, parseItem, typeNamedIn } from './store/item-json.ts';
import { ID_PREFIXES, MAX_INLINE_BYTES, type NewItem } from './store/window-nodes.ts';

/** The conversations that one caller may see, and their bounds. */
export interface ConversationSpace {
  /** The owner of its new records. */
  readonly owner: string;
  /** The owners whose records it may see. */
  readonly owners: readonly string[];
  /** The bound on all records of an owner, in bytes; 0: there is no bound. */
  readonly maxBytes: number;
  /** The bound on one conversation, in bytes: a request contains the whole of it. */
  readonly maxConversationBytes: number;
}

const ConversationData = z.object({
  createdAt: z.number(),
  metadata: z.record(z.string(), z.string()),
  /** The delivery id of the last request that added to it, if that request may be delivered again. */
  delivery: z.string().optional(),
});
type ConversationData = z.infer<typeof ConversationData>;

/** A conversation without its items. */
export interface StoredConversation extends ConversationData {
  readonly id: string;
}

/** An item with an id, by which it is named in its conversation. */
export interface ConversationItem extends NewItem {
  readonly id: string;
}

/** A conversation whose items a request continues. */
export interface ConversationHead extends WindowEnd {
  readonly id: string;
  readonly owner: string;
  readonly delivery: string | null;
}

/** The conversations that one caller may see. All throw `service_unavailable` where the store cannot be reached. */
export interface StoredConversations {
  /** Of its new records. */
  readonly owner: string;
  create(
    items: readonly ConversationItem[],
    metadata: ConversationData['metadata'],
  ): Promise<StoredConversation>;
  /** Null: the conversation is unknown, or another owner's. */
  find(id: string): Promise<StoredConversation | null>;
  items(id: string): Promise<readonly StoredItem[] | null>;
  /**
   * Items that the owner has anywhere, by their ids, in the order of the ids; null for those that there are not.
   *
   * @throws {GatewayError} `context_length_exceeded` where they are more than one conversation may have
   */
  named(ids: readonly string[]): Promise<readonly (StoredItem | null)[]>;
  /** Null as for `find`. */
  head(id: string): Promise<ConversationHead | null>;
  /**
   * Adds items after those that there are, once for each delivery.
   *
   * @throws {GatewayError} `object_not_found`, `storage_full`
   */
  add(id: string, items: readonly NewItem[], delivery?: string | null): Promise<void>;
  /** @throws {GatewayError} `object_not_found`, `storage_full` */
  describe(id: string, metadata: ConversationData['metadata']): Promise<StoredConversation>;
  /** @throws {GatewayError} `object_not_found`, for an item too */
  removeItem(id: string, itemId: string): Promise<StoredConversation>;
  remove(id: string): Promise<boolean>;
  /**
   * The head of a conversation, for as long as something works on it.
   *
   * @throws {GatewayError} `conversation_locked` where something else does
   */
  lock(id: string, delivery?: string | null): Promise<Pick<Claim, 'release'>>;
}

const MS_PER_SECOND = 1000;
/** Reading and writing a conversation takes milliseconds. */
const [CHANGE_LEASE_MS, CHANGE_RETRY_MS, MAX_CHANGE_TRIES] = [10_000, 20, 100];
const MAX_ID_CHARACTERS = 512;
/** As many items as some thousand responses bring. */
const MAX_ITEMS = 20_000;

export const storedConversations = (
  store: ConversationStore,
  { owner: newOwner, owners, maxBytes, maxConversationBytes }: ConversationSpace,
): StoredConversations => {
  const read = async (id: string, withItems: boolean) => {
    if (!isId(id)) return null;
    const options = { retentionMs: null, ...(withItems && { items: 'window' as const }) };
    for (const owner of owners) {
      const found = await store.read({ owner, kind: 'conversation', id }, options);
      if (found !== null) return { ...found, owner, data: ConversationData.parse(found.record.data) };
    }
    return null;
  };

  const put = async (
    record: Pick<NewRecord, 'owner' | 'id' | 'after' | 'input' | 'expects'>,
    data: ConversationData,
  ) => {
    const whole = { ...record, kind: 'conversation', output: [], data: { ...data }, maxBytes } as const;
    const result = await store.put({ ...whole, retentionMs: null }).catch(notWritten);
    if (result === 'changed') throw conversationLocked();
    if (result !== 'stored') throw conversationsFull();
  };

  /** Locks the conversation while `work` reads it and writes it again. */
  const alone = async <Result>(id: string, work: () => Promise<Result>): Promise<Result> => {
    if (!isId(id)) throw conversationNotFound(id);
    for (let tries = 0; tries < MAX_CHANGE_TRIES; tries += 1) {
      const claim = await store.claim(newOwner, `change:${id}`, CHANGE_LEASE_MS);
      if (claim === null) {
        await setTimeout(CHANGE_RETRY_MS);
        continue;
      }
      try {
        return await work();
      } finally {
        await claim.release().catch(() => undefined);
      }
    }
    throw conversationLocked();
  };

  const found = async (id: string, withItems: boolean) => {
    const conversation = await read(id, withItems);
    if (conversation === null) throw conversationNotFound(id);
    return conversation;
  };

  const goOn = async (id: string, items: readonly NewItem[], changed: Partial<ConversationData>) => {
    const { owner, record, ...before } = await found(id, false);
    const { delivery } = changed;
    if (delivery !== undefined && delivery === before.data.delivery) return { id, ...before.data };
    const data = { ...before.data, ...changed };
    checkSize(record, items, maxConversationBytes);
    await put({ owner, id, after: record, expects: record.head, input: items.map(withId) }, data);
    return { id, ...data };
  };

  return {
    owner: newOwner,
    create: async (items, metadata) => {
      checkSize(NO_ITEMS, items, maxConversationBytes);
      const id = newId('conv_');
      const data = { createdAt: Math.floor(Date.now() / MS_PER_SECOND), metadata };
      await put({ owner: newOwner, id, input: items }, data);
      return { id, ...data };
    },
    find: async (id) => {
      const conversation = await read(id, false);
      return conversation && { id, ...conversation.data };
    },
    head: async (id) => {
      const conversation = await read(id, false);
      if (conversation === null) return null;
      const { owner, record, data } = conversation;
      return { id, owner, delivery: data.delivery ?? null, ...endOf(record) };
    },
    items: async (id) => (await read(id, true))?.items ?? null,
    named: async (ids) => {
      const lists: (readonly (StoredItem | null)[])[] = [];
      for (const owner of owners) {
        const list = await store.items(owner, ids, maxConversationBytes);
        if (list === null) throw conversationTooLong(`more bytes; at most ${maxConversationBytes} bytes`);
        lists.push(list);
      }
      return ids.map(
        (_, index) => lists.map((list) => list[index] ?? null).find((item) => item !== null) ?? null,
      );
    },
    add: async (id, items, delivery = null) => {
      await alone(id, () => goOn(id, items, { delivery: delivery ?? undefined }));
    },
    describe: (id, metadata) => alone(id, () => goOn(id, [], { metadata })),
    removeItem: (id, itemId) =>
      alone(id, async () => {
        const { owner, record, items, data } = await found(id, true);
        const input = items.filter((item) => item.id !== itemId);
        if (input.length === items.length) throw itemNotFound(itemId);
        await put({ owner, id, expects: record.head, input }, data);
        return { id, ...data };
      }),
    remove: async (id) => {
      if (!isId(id)) return false;
      for (const owner of owners) if (await store.remove({ owner, kind: 'conversation', id })) return true;
      return false;
    },
    lock: async (id, delivery) => {
      if (!isId(id)) throw conversationNotFound(id);
      const claim = await holdClaim(store, newOwner, claimOf(id), delivery);
      if (claim === null) throw conversationLocked();
      return claim;
    },
  };
};

const claimOf = (id: string): string => `conversation:${id}`;

/** Frees a conversation that a process which died had locked for this delivery; one that somebody else has stays locked. */
export async function unlockConversation(
  store: Pick<ConversationStore, 'claim'>,
  { owner, id, delivery }: { readonly owner: string; readonly id: string; readonly delivery: string },
): Promise<void> {
  const claim = await store.claim(owner, claimOf(id), CHANGE_LEASE_MS, delivery);
  await claim?.release();
}

const NO_ITEMS: WindowEnd = { head: '', items: 0, bytes: 0 };

/** Whatever is done with a conversation reads all of it. */
function checkSize(before: WindowEnd, added: readonly NewItem[], maxBytes: number): void {
  const count = before.items + added.length;
  const bytes = added.reduce((sum, { json }) => sum + Buffer.byteLength(json), before.bytes);
  if (added.length > 0 && (count > MAX_ITEMS || bytes > maxBytes))
    throw conversationTooLong(
      `${count} items of ${bytes} bytes; at most ${MAX_ITEMS} items of ${maxBytes} bytes`,
    );
}

const endOf = ({ head, items, bytes }: WindowEnd): WindowEnd => ({ head, items, bytes });

/** A text that is not an id names nothing. */
const isId = (id: string): boolean => id.length <= MAX_ID_CHARACTERS && !id.includes('\0');

/** An item with its own id, or with a new one. */
export function storedItem(value: unknown): ConversationItem {
  const item = objectOf(value);
  return { id: textAt(item, 'id') || newItemId(item.type), json: JSON.stringify(value) };
}

/** A large item is not parsed for it: one whose first type is that of a part of it is a message. */
function typeOf(json: ItemJson): unknown {
  if (typeof json === 'string' || json.length <= MAX_INLINE_BYTES) return objectOf(parseItem(json)).type;
  const named = typeNamedIn(json) ?? 'message';
  return ID_PREFIXES.has(named) ? named : 'message';
}

const withId = (item: NewItem): ConversationItem => ({
  ...item,
  id: item.id ?? newItemId(typeOf(item.json)),
});

/** A new id for an item of this type. An item without a type is a message. */
export const newItemId = (type: unknown): string =>
  newId(ID_PREFIXES.get(typeof type === 'string' ? type : 'message') ?? 'item_');
