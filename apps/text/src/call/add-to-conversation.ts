import { deliveryOf } from '@gateway/service-kit/delivery';
import { type ConversationItem, keptConversations } from '../conversations/kept-conversations.ts';
import { newItemId } from '../conversations/kept-item.ts';
import type { NewItem } from '../stored/conversations/window-nodes.ts';
import { objectOf } from '../wire/json-object.ts';
import { parseBody } from '../wire/raw-json.ts';
import { spaceOf } from './conversation-space.ts';
import type { TextCall } from './text-call.ts';

/**
 * Adds what a response brought to the conversation that it went on from, and gives up its head: the caller may go on at
 * once. Nothing is added of what failed.
 *
 * @returns whether it is there; the caller has an answer all the same
 */
export async function addToConversation(
  call: TextCall,
  id: string,
  items: readonly NewItem[] | null,
): Promise<boolean> {
  const { services, identity, context, conversationLock } = call;
  const space = spaceOf(identity, null, services.upstream.configuration.conversations);
  let isAdded = false;
  if (items !== null && space !== null) {
    const adding = keptConversations(services.conversations, space).add(
      id,
      items.map(withId),
      deliveryOf(call.message)?.id ?? null,
    );
    isAdded = await adding.then(
      () => true,
      () => false,
    );
    context.line.conversationKept = isAdded;
    services.metrics.kept(isAdded ? 'stored' : 'failed');
  }
  await conversationLock?.release().catch(() => undefined);
  return isAdded;
}

const withId = (item: NewItem): ConversationItem => ({
  ...item,
  id: item.id ?? newItemId(objectOf(parseBody(item.json)).type),
});
