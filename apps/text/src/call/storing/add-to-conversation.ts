import { deliveryOf } from '@gateway/service-kit/delivery';
import { type ItemJson, parseItem, typeNamedIn } from '../../stored/store/item-json.ts';
import { ID_PREFIXES, type NewItem } from '../../stored/store/window-nodes.ts';
import { type ConversationItem, newItemId, storedConversations } from '../../stored/stored-conversations.ts';
import { objectOf } from '../../wire/json-object.ts';
import { spaceOf } from '../history/conversation-space.ts';
import type { TextCall } from '../request/text-call.ts';

/**
 * Adds a response's items to its conversation and releases the lock, so that the caller can continue at once. A response
 * that failed adds nothing.
 *
 * @returns whether the items were added; the caller gets an answer in both cases
 */
export async function addToConversation(
  call: TextCall,
  id: string,
  items: readonly NewItem[] | null,
): Promise<boolean> {
  const { services, identity, context, release } = call;
  const space = spaceOf(identity, null, services.upstream.configuration.conversations);
  let isAdded = false;
  if (items !== null && space !== null) {
    const adding = storedConversations(services.conversations, space).add(
      id,
      items.map(withId),
      deliveryOf(call.caller)?.id ?? null,
    );
    isAdded = await adding.then(
      () => true,
      () => false,
    );
    context.line.conversationKept = isAdded;
    services.metrics.stored(isAdded ? 'stored' : 'failed');
  }
  await release?.();
  return isAdded;
}

/** A large item is not parsed for it: one whose first type is that of a part of it is a message. */
function typeOf(json: ItemJson): unknown {
  if (typeof json === 'string') return objectOf(parseItem(json)).type;
  const named = typeNamedIn(json) ?? 'message';
  return ID_PREFIXES.has(named) ? named : 'message';
}

const withId = (item: NewItem): ConversationItem => ({
  ...item,
  id: item.id ?? newItemId(typeOf(item.json)),
});
