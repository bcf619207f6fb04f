import type { JsonObject } from '../../wire/json-object.ts';
import type { IdOrigin, ProviderId } from '../origins/id-origins.ts';
import type { ItemJson } from './item-json.ts';
import type { NewItem } from './window-nodes.ts';

/** What has a record: a response, a message of a thread, a conversation. */
export type RecordKind = 'response' | 'message' | 'conversation';

/** The owner is a key's id, or that of the team that shares. What another owner has does not exist. */
export interface RecordKey {
  readonly owner: string;
  readonly kind: RecordKind;
  /** Unique for the owner and the kind. */
  readonly id: string;
}

/** The end of a stored window, to be gone on from. */
export interface WindowEnd {
  /** Empty where there are no items. */
  readonly head: string;
  /** How many items lead to it, and their bytes. */
  readonly items: number;
  readonly bytes: number;
}

export interface NewRecord extends RecordKey {
  /** The id of the record of the same kind that this one continues. It breaks when that one is removed. */
  readonly previous?: string;
  /** The record that is continued may be continued by no other one. */
  readonly once?: boolean;
  /**
   * Kept items that the input follows, such as those of a conversation: they are shared and not repeated. Unlike those of
   * `previous` they stay when the record that had them is removed.
   */
  readonly after?: WindowEnd;
  readonly input: readonly NewItem[];
  readonly output: readonly NewItem[];
  /** The rest: what is large among its members lies outside of Redis, and is stored once. */
  readonly data: JsonObject;
  /** Another one's record of the same id is not replaced: names who writes it, once for each response. Absent: it is replaced. */
  readonly writer?: string;
  /** Keep it only if the record is there and ends like this: for changes of one that is shared. */
  readonly expects?: string;
  /** How long it is kept, with all that it continues and all that continue it, unless it is read or continued; null: for ever. */
  readonly retentionMs: number | null;
  /** What its owner may have in all; 0: there is no bound. */
  readonly maxBytes: number;
  /** Ids of the same reply that a caller may name, remembered in the same write. */
  readonly received?: { readonly ids: readonly ProviderId[]; readonly origin: IdOrigin };
}

/**
 * `full`: the owner's bound is reached. `previous-not-found`: it is gone. `continued`: by another one. `changed`: the record
 * is not the expected one. `taken`: another key, or another response, has the same id. Nothing is stored then.
 */
export type PutResult = 'stored' | 'full' | 'previous-not-found' | 'continued' | 'changed' | 'taken';

export interface StoredRecord extends WindowEnd {
  readonly previous: string | null;
  /** The id of a record that it goes back to and that is gone; null where its whole window is there. */
  readonly missing: string | null;
  /** How many records lead to it, itself included. */
  readonly depth: number;
  /** The record that continues it, where only one may. */
  readonly continuedBy: string | null;
  readonly data: JsonObject;
}

export interface StoredItem {
  /** Its own, or one that the store gives to an item without. */
  readonly id: string;
  /** As it was stored: without an id where it had none. */
  readonly json: ItemJson;
  /** The channel that made it; null for what a caller sent. */
  readonly maker: string | null;
}

/** `input` and `output` are the record's own; `window` is all that led to it, and its output. */
export type ItemChoice = 'input' | 'output' | 'window';

export interface ReadOptions {
  /** The record is kept for so long from now; null: as long as before. */
  readonly retentionMs: number | null;
  /** Default: none of its items. */
  readonly items?: ItemChoice;
}

export interface RecordWithItems {
  readonly record: StoredRecord;
  /** In their order; of a window none where a record that it goes back to is gone. */
  readonly items: readonly StoredItem[];
}

/** A lock with a lease: another process may take what nobody has renewed. */
export interface Claim {
  /** Whether it is still the claimant's. */
  renew(leaseMs: number): Promise<boolean>;
  release(): Promise<void>;
}

/**
 * Conversations of all kinds, kept by reference: each item once, however many records hold it. What was not used for some hours is in
 * the database; it is brought back when it is named.
 */
export interface ConversationStore {
  /** All of it or nothing. The same key again replaces the record. @throws what Redis or the storage of large parts throws */
  put(record: NewRecord): Promise<PutResult>;
  /** Null for one that is not there, or no longer. @throws {GatewayError} `service_unavailable` */
  read(key: RecordKey, options: ReadOptions): Promise<RecordWithItems | null>;
  /** Whether there are items of these ids, in their order; those that are in the database are not there. @throws {GatewayError} `service_unavailable` */
  hasItems(owner: string, ids: readonly string[]): Promise<readonly boolean[]>;
  /**
   * Single items by their ids, in the order of the ids, each as often as it is named. Null where all of that has more bytes
   * than `maxBytes`; then none is read. With `onlyHere` those that are in the database are not there.
   * @throws {GatewayError} `service_unavailable`
   */
  items(
    owner: string,
    ids: readonly string[],
    maxBytes: number,
    options?: { readonly onlyHere?: boolean },
  ): Promise<readonly (StoredItem | null)[] | null>;
  /** Whether it was there. What it alone held is gone, from everywhere. @throws {GatewayError} `service_unavailable` */
  remove(key: RecordKey): Promise<boolean>;
  /** Null where somebody else has it, who has another token. @throws {GatewayError} `service_unavailable` */
  claim(owner: string, name: string, leaseMs: number, token?: string): Promise<Claim | null>;
  /** What an owner has, in bytes. */
  usedBytes(owner: string): Promise<number>;
  /** Removes what has expired, of every owner that is due. Resolves to how many records. */
  sweep(): Promise<number>;
}
