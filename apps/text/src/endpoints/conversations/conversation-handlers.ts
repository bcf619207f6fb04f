import { ConversationUpdate } from '@gateway/contracts/openai/conversations';
import { type Handler, sendJson } from '@gateway/service-kit/request/handler';
import { contextOf } from '@gateway/service-kit/request/request-context';
import type { TextServices } from '../../call/request/text-call.ts';
import { conversationNotFound } from '../../stored/conversation-errors.ts';
import {
  addedItems,
  conversationsOf,
  namedConversation,
  readAdditions,
  readBody,
  shownConversation,
} from './conversation-call.ts';

/** Handles `POST /v1/conversations`. */
export const createConversation =
  (services: TextServices): Handler =>
  async (incoming, response) => {
    const conversations = conversationsOf(services, incoming);
    const additions = await readAdditions('create', incoming, services, conversations);
    const made = await conversations.create(await addedItems(conversations, additions), additions.metadata);
    contextOf(incoming).line.conversationId = made.id;
    sendJson(response, shownConversation(made));
  };

/** Handles `GET /v1/conversations/{id}`. */
export const readConversation =
  (services: TextServices): Handler =>
  async (incoming, response, params) => {
    const id = namedConversation(incoming, params);
    const found = await conversationsOf(services, incoming).find(id);
    if (found === null) throw conversationNotFound(id);
    sendJson(response, shownConversation(found));
  };

/** Handles `POST /v1/conversations/{id}`: other metadata. */
export const updateConversation =
  (services: TextServices): Handler =>
  async (incoming, response, params) => {
    const id = namedConversation(incoming, params);
    const conversations = conversationsOf(services, incoming);
    const { metadata } = await readBody(ConversationUpdate, incoming, services);
    const changed = await conversations.describe(id, metadata ?? {});
    sendJson(response, shownConversation(changed));
  };

/** Handles `DELETE /v1/conversations/{id}`. Responses that were made with it stay. */
export const deleteConversation =
  (services: TextServices): Handler =>
  async (incoming, response, params) => {
    const id = namedConversation(incoming, params);
    if (!(await conversationsOf(services, incoming).remove(id))) throw conversationNotFound(id);
    sendJson(response, { id, object: 'conversation.deleted', deleted: true });
  };
