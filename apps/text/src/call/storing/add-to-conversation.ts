import { deliveryOf } from '@gateway/service-kit/delivery';
import type { NewItem } from '../../stored/store/window-nodes.ts';
import { storedConversations } from '../../stored/stored-conversations.ts';
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
      items,
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
