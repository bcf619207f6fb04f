import type { IncomingHttpHeaders } from 'node:http';
import type { NewItem } from '../../../stored/store/window-nodes.ts';
import { type JsonObject, objectAt, textAt } from '../../../wire/json-object.ts';
import { type FixedMembers, fixedMembersOf } from './fixed-members.ts';

/** What the body of a thread's turn says of its thread. */
export interface TurnHead {
  /** The reply that it continues; null for the first turn. */
  readonly previous: string | null;
  readonly fixed: FixedMembers;
}

export const turnHead = (body: JsonObject, headers: IncomingHttpHeaders): TurnHead => ({
  previous: textAt(objectAt(body, 'thread') ?? {}, 'previous_message_id'),
  fixed: fixedMembersOf(body, headers),
});

/** The messages that a turn adds, as items to store. */
export const turnMessages = ({ messages }: JsonObject): readonly NewItem[] =>
  Array.isArray(messages) ? messages.map(messageItem) : [];

export const messageItem = (message: unknown): NewItem => ({ id: null, json: JSON.stringify(message) });
