import type { IncomingMessage } from 'node:http';
import { hasBody } from '@gateway/service-kit/request/check-request';
import type { PathParams } from '@gateway/service-kit/request/handler';
import { readJsonBody } from '@gateway/service-kit/request/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import type { z } from 'zod';
import { spaceOf } from '../../call/history/conversation-space.ts';
import type { TextServices } from '../../call/request/text-call.ts';
import { conversationsOff, itemNotFound } from '../../stored/conversation-errors.ts';
import { isReference } from '../../stored/response-record.ts';
import {
  type ConversationItem,
  type StoredConversation,
  type StoredConversations,
  storedConversations,
  storedItem,
} from '../../stored/stored-conversations.ts';

/** What a request may read and change. @throws {GatewayError} where nothing is kept for its caller */
export function conversationsOf(
  { conversations, upstream }: TextServices,
  incoming: IncomingMessage,
): StoredConversations {
  const space = spaceOf(identityOf(incoming), null, upstream.configuration.conversations);
  if (space === null) throw conversationsOff();
  return storedConversations(conversations, space);
}

/** The conversation that a request's path names; the log line has it too. */
export function namedConversation(incoming: IncomingMessage, params: PathParams): string {
  const id = String(params.id);
  contextOf(incoming).line.conversationId = id;
  return id;
}

/**
 * The request's body. None at all is an empty object, as clients send none where every member may be left out.
 *
 * @throws {GatewayError} for a body that cannot be read, or that is not what the endpoint takes
 */
export async function readBody<Schema extends z.ZodType>(
  schema: Schema,
  incoming: IncomingMessage,
  { maxBodyBytes, maxJsonDepth }: TextServices,
): Promise<z.infer<Schema>> {
  const bounds = { maxBytes: maxBodyBytes, maxDepth: maxJsonDepth };
  return validate(schema, hasBody(incoming.headers) ? (await readJsonBody(incoming, bounds)).value : {});
}

/** Items that a request adds; what it names by an id alone is what its owner has under that id. */
export async function addedItems(
  conversations: StoredConversations,
  items: readonly unknown[],
): Promise<readonly ConversationItem[]> {
  const ids = items.filter(isReference).map(({ id }) => id);
  const found = new Map((await conversations.named(ids)).map((item, index) => [ids[index], item]));
  return items.map((item) => {
    if (!isReference(item)) return storedItem(item);
    const named = found.get(item.id);
    if (!named) throw itemNotFound(item.id, 'items');
    return named;
  });
}

/** A conversation as callers see it. */
export const shownConversation = ({ id, createdAt, metadata }: StoredConversation) => ({
  id,
  object: 'conversation',
  created_at: createdAt,
  metadata,
});
