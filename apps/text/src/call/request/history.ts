import type { Candidate } from '@gateway/upstream/candidate';
import type { FoundOrigin } from '../../stored/origins/id-origins.ts';
import { isMadeAt, type Maker } from '../../stored/origins/maker.ts';
import type { NamedId } from '../../stored/origins/named-ids.ts';
import type { StoredItem } from '../../stored/store/conversation-store.ts';
import type { ConversationHead } from '../../stored/stored-conversations.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import type { TextRequest } from './text-request.ts';
import type { ThreadTurn } from './thread-turn.ts';

/**
 * What a request continues. Whatever kind it is of, a channel that has it gets its id, and every other one its items before
 * the request's own.
 */
export interface Continued {
  readonly kind: 'response' | 'conversation' | 'thread';
  /** Empty for the first turn of a thread. */
  readonly id: string;
  /** Whose records a response goes to that continues it; null: the caller's own. */
  readonly owner: string | null;
  /** False: only the caller's connection has it. */
  readonly isStored: boolean;
  /** Where the response is added; null for what is no conversation. */
  readonly conversation: ConversationHead | null;
  readonly bytes: number;
  /** The most tokens of its items, beyond what its bytes tell: it may hold files. */
  readonly tokens: number;
  /** The provider's account that has it too; null: none is known. */
  readonly holder: Maker | null;
  /** Whether its items can be sent to any channel. If it failed or has not ended, only its provider can continue it. */
  readonly isWhole: boolean;
  /** The maker of its newest answer, which has it in its cache; null: not known. */
  readonly servedBy: Maker | null;
  /** Its session, for requests that name none. */
  readonly session?: string | undefined;
  /** The members of a response that name it. */
  readonly members: JsonObject;
  /** Of a message thread that the gateway keeps: this turn of it. */
  readonly turn: ThreadTurn | null;
  /**
   * Takes it for one request; null where the gateway does not have it after all. Absent where several requests may continue it
   * at the same time.
   *
   * @throws {GatewayError} where another request has it, or it cannot be continued
   */
  readonly claim?: (purpose: Purpose) => Promise<Claimed | null>;
  /** Its items. @throws {GatewayError} if they are gone */
  window(): Promise<readonly StoredItem[]>;
}

/** `generating`: a reply is to continue it. `counting`: a request only looks at it. */
export type Purpose = 'generating' | 'counting';

/** What changes of a request that has what it continues for itself. */
export interface Claimed {
  /** A turn of a message thread becomes the whole conversation. */
  readonly request?: TextRequest;
  /** As it is now. */
  readonly history?: History;
  /** Gives it back. Never rejects. */
  readonly release?: () => Promise<void>;
}

/** A response that is not stored, with the items that led to it. */
export interface RememberedResponse {
  readonly id: string;
  /** The approximate size of its items. */
  readonly bytes: number;
  /** The tokens of its items, as its provider reported them; 0: not known. */
  readonly tokens: number;
  /** The maker of its newest answer; null: it has no answer yet. */
  readonly servedBy: Maker | null;
  /** The items that led to it, and its output. @throws {GatewayError} if an earlier stored part is gone */
  items(): Promise<readonly StoredItem[]>;
}

/** The stored parts of what a request names, and how its response is to be stored. */
export interface History {
  /** `wanted`: its response is stored. `refused`: the caller requests that, but the configuration forbids it. */
  readonly storing: 'wanted' | 'refused' | 'unwanted';
  /** The owner of its response and of what it names. */
  readonly owner: string;
  /** Null: it continues nothing that the gateway has. */
  readonly continued: Continued | null;
  /** The items that it names, by their ids. */
  readonly items: ReadonlyMap<string, StoredItem>;
  /** The size of what it continues and of the items that it names by id. An item counts each time it is named. */
  readonly bytes: number;
  /** The origins of what it names, in the order of `ids`. */
  readonly origins: readonly FoundOrigin[];
  /** The provider's account that has everything the request requires; null: no account has all of it. */
  readonly holder: Maker | null;
  /** Whether the gateway stores everything that the request requires. Then any channel can get the whole conversation. */
  readonly isWhole: boolean;
}

/** Whether a channel gets the ids as the caller sent them. Other channels get the whole conversation. */
export const knowsNamed = (
  { request, history }: { readonly request: TextRequest; readonly history: History },
  candidate: Candidate,
): boolean =>
  history.holder === null
    ? !namesStored({ request, history })
    : candidate.protocol === 'responses' &&
      isMadeAt(history.holder, candidate) &&
      (candidate.route.quirks.storedResponses || !history.isWhole);

/** The conversation that a request continues, if the gateway stores it. */
export const conversationIn = ({ continued }: Pick<History, 'continued'>): ConversationHead | null =>
  continued?.conversation ?? null;

/** The turn of a message thread that a request is, if the gateway keeps the thread. */
export const turnIn = ({ continued }: Pick<History, 'continued'>): ThreadTurn | null =>
  continued?.turn ?? null;

/** The items of what a request continues, where they are stored nowhere: they become its response's own input. */
export const unstoredBefore = async ({ continued }: History): Promise<readonly StoredItem[]> =>
  continued === null || continued.isStored ? [] : continued.window();

/** Whether a request continues something that a channel may not know. */
export const namesStored = ({
  request,
  history,
}: {
  readonly request: TextRequest;
  readonly history: History;
}): boolean => conversationIn(history) !== null || request.ids.some(isStateful);

/** Whether the request cannot be answered without what this id names. */
export const isStateful = ({ need, kind }: NamedId): boolean =>
  need === 'required' && (kind === 'response' || kind === 'item');
