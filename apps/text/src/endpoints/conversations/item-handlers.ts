import { ConversationItemsRequest } from '@gateway/contracts/openai/conversations';
import type { RequestHandler } from 'express';
import type { TextServices } from '../../call/request/text-call.ts';
import { conversationNotFound, itemNotFound } from '../../stored/conversation-errors.ts';
import { listedItems, shownItem } from '../../stored/shown-item.ts';
import { itemPage } from '../stored/item-page.ts';
import {
  addedItems,
  conversationsOf,
  namedConversation,
  readBody,
  shownConversation,
} from './conversation-call.ts';

/** Handles `POST /v1/conversations/{id}/items`. */
export const addItems =
  (services: TextServices): RequestHandler =>
  async (incoming, response) => {
    const id = namedConversation(incoming);
    const conversations = conversationsOf(services, incoming);
    const body = await readBody(ConversationItemsRequest, incoming, services);
    const added = await addedItems(conversations, body.items);
    const lock = await conversations.lock(id);
    try {
      await conversations.add(id, added);
    } finally {
      await lock.release().catch(() => undefined);
    }
    const data = added.map(shownItem);
    response.json({
      object: 'list',
      data,
      first_id: added.at(0)?.id ?? null,
      last_id: added.at(-1)?.id ?? null,
      has_more: false,
    });
  };

/** Handles `GET /v1/conversations/{id}/items`. */
export const listItems =
  (services: TextServices): RequestHandler =>
  async (incoming, response) => {
    const id = namedConversation(incoming);
    const items = await conversationsOf(services, incoming).items(id);
    if (items === null) throw conversationNotFound(id);
    const { page, members } = itemPage(listedItems(items), incoming.query);
    response.json({ object: 'list', data: page.map(shownItem), ...members });
  };

/** Handles `GET /v1/conversations/{id}/items/{item_id}`. */
export const readItem =
  (services: TextServices): RequestHandler =>
  async (incoming, response) => {
    const id = namedConversation(incoming);
    const itemId = String(incoming.params.item_id);
    const items = await conversationsOf(services, incoming).items(id);
    if (items === null) throw conversationNotFound(id);
    const item = items.find((one) => one.id === itemId);
    if (item === undefined) throw itemNotFound(itemId);
    response.json(shownItem(item));
  };

/** Handles `DELETE /v1/conversations/{id}/items/{item_id}`. */
export const deleteItem =
  (services: TextServices): RequestHandler =>
  async (incoming, response) => {
    const id = namedConversation(incoming);
    const itemId = String(incoming.params.item_id);
    const conversations = conversationsOf(services, incoming);
    const lock = await conversations.lock(id);
    const changed = await conversations
      .removeItem(id, itemId)
      .finally(() => lock.release().catch(() => undefined));
    response.json(shownConversation(changed));
  };
