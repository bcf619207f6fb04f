import { readJson } from '../checks/read-json.ts';
import { asObject, asText, isGiven } from '../json-value.ts';
import type { Provider } from '../provider.ts';
import { ProviderError } from '../replies/provider-error.ts';
import { jsonReply } from '../replies/reply.ts';
import type { Handler } from '../requests/call.ts';
import type { Conversation } from './conversation-store.ts';
import { ownItems } from './effective-input.ts';

const shown = ({ id, createdAt, metadata }: Conversation) => ({
  id,
  object: 'conversation',
  created_at: createdAt,
  metadata,
});

const found = (id: string, provider: Provider): Conversation => {
  const conversation = provider.conversations.get(id);
  if (conversation) return conversation;
  throw new ProviderError({
    status: 404,
    message: `Conversation with id '${id}' not found.`,
    param: 'conversation',
  });
};

/**
 * The conversation that a request names, by its id or an object with it; null if it names none.
 * @throws ProviderError 404
 */
export const conversationOf = (named: unknown, provider: Provider): Conversation | null => {
  if (!isGiven(named)) return null;
  return found(typeof named === 'string' ? named : asText(asObject(named).id), provider);
};

/** `POST /v1/conversations` */
export const createConversation: Handler = (call) => {
  const { provider } = call;
  const { items, metadata } = readJson(call);
  const conversation: Conversation = {
    id: provider.ids.next('conv_'),
    createdAt: provider.nowSeconds(),
    metadata: isGiven(metadata) ? metadata : {},
    items: ownItems(items ?? [], provider),
  };
  provider.conversations.put(conversation);
  return jsonReply(shown(conversation));
};

/** `GET /v1/conversations/{id}` */
export const getConversation: Handler = ({ params, provider }) => {
  const [id = ''] = params;
  return jsonReply(shown(found(id, provider)));
};
