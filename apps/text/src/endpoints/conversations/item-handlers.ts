import { type Handler, parsedQuery, sendJson } from '@gateway/service-kit/request/handler';
import { identityOf } from '@gateway/service-kit/request/request-context';
import type { TextServices } from '../../call/request/text-call.ts';
import { conversationNotFound, itemNotFound } from '../../stored/conversation-errors.ts';
import { listedItems } from '../../stored/shown-item.ts';
import { itemPage } from '../stored/item-page.ts';
import { shownAlone, shownList } from '../stored/shown.ts';
import {
  addedItems,
  conversationsOf,
  namedConversation,
  readAdditions,
  shownConversation,
} from './conversation-call.ts';

/** Handles `POST /v1/conversations/{id}/items`. */
export const addItems =
  (services: TextServices): Handler =>
  async (incoming, response, params) => {
    const id = namedConversation(incoming, params);
    const conversations = conversationsOf(services, incoming);
    const added = await addedItems(
      conversations,
      await readAdditions('add', incoming, services, conversations),
    );
    const lock = await conversations.lock(id);
    try {
      await conversations.add(id, added);
    } finally {
      await lock.release().catch(() => undefined);
    }
    const ends = { first_id: added.at(0)?.id ?? null, last_id: added.at(-1)?.id ?? null };
    sendJson(response, await shownList(added, { ...ends, has_more: false }, identityOf(incoming).keyId));
  };

/** Handles `GET /v1/conversations/{id}/items`. */
export const listItems =
  (services: TextServices): Handler =>
  async (incoming, response, params) => {
    const id = namedConversation(incoming, params);
    const items = await conversationsOf(services, incoming).items(id);
    if (items === null) throw conversationNotFound(id);
    const { page, members } = itemPage(listedItems(items), parsedQuery(incoming));
    sendJson(response, await shownList(page, members, identityOf(incoming).keyId));
  };

/** Handles `GET /v1/conversations/{id}/items/{item_id}`. */
export const readItem =
  (services: TextServices): Handler =>
  async (incoming, response, params) => {
    const id = namedConversation(incoming, params);
    const itemId = String(params.item_id);
    const items = await conversationsOf(services, incoming).items(id);
    if (items === null) throw conversationNotFound(id);
    const item = items.find((one) => one.id === itemId);
    if (item === undefined) throw itemNotFound(itemId);
    sendJson(response, await shownAlone(item, identityOf(incoming).keyId));
  };

/** Handles `DELETE /v1/conversations/{id}/items/{item_id}`. */
export const deleteItem =
  (services: TextServices): Handler =>
  async (incoming, response, params) => {
    const id = namedConversation(incoming, params);
    const itemId = String(params.item_id);
    const conversations = conversationsOf(services, incoming);
    const lock = await conversations.lock(id);
    const changed = await conversations
      .removeItem(id, itemId)
      .finally(() => lock.release().catch(() => undefined));
    sendJson(response, shownConversation(changed));
  };
