import { hasBody } from '@gateway/service-kit/request/check-request';
import { readJsonBody } from '@gateway/service-kit/request/json-body';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import type { Request } from 'express';
import type { z } from 'zod';
import { spaceOf } from '../../call/history/conversation-space.ts';
import type { TextServices } from '../../call/request/text-call.ts';
import { conversationsOff, itemNotFound } from '../../conversations/conversation-errors.ts';
import {
  type ConversationItem,
  type KeptConversation,
  type KeptConversations,
  keptConversations,
  keptItem,
} from '../../conversations/kept-conversations.ts';
import { isReference } from '../../stored/kept-response.ts';

/** What a request may read and change. @throws {GatewayError} where nothing is kept for its caller */
export function conversationsOf(
  { conversations, upstream }: TextServices,
  message: Request,
): KeptConversations {
  const space = spaceOf(identityOf(message), null, upstream.configuration.conversations);
  if (space === null) throw conversationsOff();
  return keptConversations(conversations, space);
}

/** The conversation that a request's path names; the log line has it too. */
export function namedConversation(message: Request): string {
  const id = String(message.params.id);
  contextOf(message).line.conversationId = id;
  return id;
}

/**
 * The request's body. None at all is an empty object, as clients send none where every member may be left out.
 *
 * @throws {GatewayError} for a body that cannot be read, or that is not what the endpoint takes
 */
export async function readBody<Schema extends z.ZodType>(
  schema: Schema,
  message: Request,
  { maxBodyBytes, maxJsonDepth }: TextServices,
): Promise<z.infer<Schema>> {
  const bounds = { maxBytes: maxBodyBytes, maxDepth: maxJsonDepth };
  return validate(schema, hasBody(message.headers) ? (await readJsonBody(message, bounds)).value : {});
}

/** Items that a request adds; what it names by an id alone is what its owner has under that id. */
export async function addedItems(
  conversations: KeptConversations,
  items: readonly unknown[],
): Promise<readonly ConversationItem[]> {
  const ids = items.filter(isReference).map(({ id }) => id);
  const found = new Map((await conversations.named(ids)).map((item, index) => [ids[index], item]));
  return items.map((item) => {
    if (!isReference(item)) return keptItem(item);
    const named = found.get(item.id);
    if (!named) throw itemNotFound(item.id, 'items');
    return named;
  });
}

/** A conversation as callers see it. */
export const shownConversation = ({ id, createdAt, metadata }: KeptConversation) => ({
  id,
  object: 'conversation',
  created_at: createdAt,
  metadata,
});
