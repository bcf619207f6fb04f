import type { Candidate } from '@gateway/upstream/candidate';
import type { ConversationHead } from '../../conversations/kept-conversations.ts';
import type { StoredItem, StoredRecord } from '../../stored/conversations/conversation-store.ts';
import { originIn } from '../../stored/kept-response.ts';
import type { FoundOrigin } from '../../stored/origins/id-origins.ts';
import { isMadeAt, type Maker } from '../../stored/origins/maker.ts';
import type { NamedId } from '../../stored/origins/named-ids.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import type { TextRequest } from './text-request.ts';

/** A kept response that a request continues. */
export interface PreviousResponse extends StoredRecord {
  readonly id: string;
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
  /** `kept`: its response is stored. `refused`: the caller requests that, but the configuration forbids it. */
  readonly storing: 'kept' | 'refused' | 'unwanted';
  /** The owner of its response and of what it names. */
  readonly owner: string;
  readonly previous: PreviousResponse | null;
  /** The response that it continues, if only the caller's connection has it. */
  readonly remembered: RememberedResponse | null;
  /** The conversation that it continues, if the gateway stores it. */
  readonly conversation: ConversationHead | null;
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
  /** The items of the response or conversation that it continues. @throws {GatewayError} if they are gone */
  window(): Promise<readonly StoredItem[]>;
}

/** Whether a channel gets the ids as the caller sent them. Other channels get the whole conversation. */
export const knowsNamed = (
  { request, history }: { readonly request: TextRequest; readonly history: History },
  candidate: Candidate,
): boolean =>
  history.holder === null
    ? !namesKept({ request, history })
    : candidate.protocol === 'responses' &&
      isMadeAt(history.holder, candidate) &&
      (candidate.route.quirks.storedResponses || !history.isWhole);

/** The id of the response that a request continues. */
export const previousIdOf = ({ previous, remembered }: History): string | null =>
  previous?.id ?? remembered?.id ?? null;

/** The maker of the newest answer before it, which has the conversation in its cache; null: not known. */
export function servedBefore({ previous, remembered }: History): Maker | null {
  if (previous === null) return remembered?.servedBy ?? null;
  const origin = originIn(previous.data);
  return origin.channel === '' ? null : origin;
}

/** The member of a response that names its conversation. */
export const conversationOf = ({ conversation }: History): JsonObject =>
  conversation === null ? {} : { conversation: { id: conversation.id } };

/** Whether a request continues something that a channel may not know. */
export const namesKept = ({
  request,
  history,
}: {
  readonly request: TextRequest;
  readonly history: History;
}): boolean => history.conversation !== null || request.ids.some(isStateful);

/** Whether the request cannot be answered without what this id names. */
export const isStateful = ({ need, kind }: NamedId): boolean =>
  need === 'required' && (kind === 'response' || kind === 'item');
