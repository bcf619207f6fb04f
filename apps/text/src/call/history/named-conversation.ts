import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ConversationRules } from '@gateway/upstream/configuration/configuration';
import { conversationNotFound } from '../../conversations/conversation-errors.ts';
import { type ConversationHead, keptConversations } from '../../conversations/kept-conversations.ts';
import type { StoredItem } from '../../stored/conversations/conversation-store.ts';
import type { TextCall, TextServices } from '../request/text-call.ts';
import { spaceOf } from './conversation-space.ts';

/** Null: the gateway does not store it. @throws {GatewayError} `context_length_exceeded`, `service_unavailable` */
export async function findConversation(
  { services, identity }: Pick<TextCall, 'services' | 'identity'>,
  id: string,
): Promise<ConversationHead | null> {
  const rules = services.upstream.configuration.conversations;
  const space = spaceOf(identity, null, rules);
  const head = space && (await keptConversations(services.conversations, space).head(id));
  if (head !== null) checkSize(head, rules);
  return head;
}

function checkSize({ id, bytes }: ConversationHead, { maxChainBytes }: ConversationRules): void {
  if (bytes <= maxChainBytes) return;
  throw new GatewayError('context_length_exceeded', {
    path: ['conversation'],
    message: `Conversation '${id}' has ${bytes} bytes; at most ${maxChainBytes} are sent to a model. Delete items, or begin a new one.`,
  });
}

/** The items of a conversation, in their order. @throws {GatewayError} if it is gone */
export async function readConversation(
  { conversations }: TextServices,
  { owner, id }: ConversationHead,
): Promise<readonly StoredItem[]> {
  const found = await conversations.read(
    { owner, kind: 'conversation', id },
    { retentionMs: null, items: 'window' },
  );
  if (found === null) throw conversationNotFound(id, ['conversation']);
  return found.items;
}
