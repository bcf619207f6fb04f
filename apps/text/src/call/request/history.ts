import type { Candidate } from '@gateway/upstream/catalog';
import type { ConversationHead } from '../../conversations/kept-conversations.ts';
import type { StoredItem, StoredRecord } from '../../stored/conversations/conversation-store.ts';
import type { FoundOrigin } from '../../stored/id-origins.ts';
import { originIn } from '../../stored/kept-response.ts';
import { isMadeAt, type Maker } from '../../stored/maker.ts';
import type { NamedId } from '../../stored/named-ids.ts';
import type { JsonObject } from '../../wire/json-object.ts';
import type { TextRequest } from './text-request.ts';

/** A kept response that a request continues. */
export interface PreviousResponse extends StoredRecord {
  readonly id: string;
}

/** A response that is stored nowhere, with all that led to it. */
export interface RememberedResponse {
  readonly id: string;
  /** Of its items, about. */
  readonly bytes: number;
  /** Who made the newest answer in it; null: nobody yet. */
  readonly servedBy: Maker | null;
  /** The items that led to it, and its output. @throws {GatewayError} where an earlier part was stored and is gone */
  items(): Promise<readonly StoredItem[]>;
}

/** What is kept of that which a request names, and what is to be kept of it. */
export interface History {
  /** `kept`: its response is; `refused`: the caller wants it, and the configuration does not. */
  readonly storing: 'kept' | 'refused' | 'unwanted';
  /** Whose its response will be, and whose is what it names. */
  readonly owner: string;
  readonly previous: PreviousResponse | null;
  /** The response that it continues, where only the caller's connection has that. */
  readonly remembered: RememberedResponse | null;
  /** The conversation that it goes on from, where that is kept here. */
  readonly conversation: ConversationHead | null;
  /** Items that it names, by their ids. */
  readonly items: ReadonlyMap<string, StoredItem>;
  /** The bytes of what it goes on from and of the items that it names only by their ids, each as often as it is named. */
  readonly bytes: number;
  /** Where what it names was made, in the order of `ids`. */
  readonly origins: readonly FoundOrigin[];
  /** Who has all that must be known, at the provider; null where nobody has all of it. */
  readonly holder: Maker | null;
  /** Whether all that must be known is kept here, so that any channel can be sent the whole conversation. */
  readonly isWhole: boolean;
  /** The items that led to the response which it continues, and its output; or those of its conversation. @throws {GatewayError} where they are gone */
  window(): Promise<readonly StoredItem[]>;
}

/** Whether a channel is sent the ids of what it has, as the caller sent them. Any other one is sent the whole conversation. */
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

/** Who made the newest answer before it, and so has what led to it in a cache; null: nobody, as far as the gateway knows. */
export function servedBefore({ previous, remembered }: History): Maker | null {
  if (previous === null) return remembered?.servedBy ?? null;
  const origin = originIn(previous.data);
  return origin.channel === '' ? null : origin;
}

/** The member of a response that names its conversation. */
export const conversationOf = ({ conversation }: History): JsonObject =>
  conversation === null ? {} : { conversation: { id: conversation.id } };

/** Whether a request goes on from something that a channel may not know. */
export const namesKept = ({
  request,
  history,
}: {
  readonly request: TextRequest;
  readonly history: History;
}): boolean => history.conversation !== null || request.ids.some(isStateful);

/** What a request cannot be answered without, and only who keeps it knows. */
export const isStateful = ({ need, kind }: NamedId): boolean =>
  need === 'required' && (kind === 'response' || kind === 'item');
