import { GatewayError } from '@gateway/contracts/gateway-error';
import { keptConversations } from '../conversations/kept-conversations.ts';
import { spaceOf } from './conversation-space.ts';
import { findHistory } from './history.ts';
import type { TextCall } from './text-call.ts';

/**
 * Takes the head of the conversation that a call goes on from, so that nothing else does until it is over. The call
 * comes back as it is where it names none that is kept here.
 *
 * @throws {GatewayError} `conversation_locked` where something else works on it
 */
export async function lockConversation(call: TextCall): Promise<TextCall> {
  const { services, identity, history, request } = call;
  if (history.conversation === null) return call;
  const { id } = history.conversation;
  call.context.line.conversationId = id;
  const space = spaceOf(identity, request.model, services.upstream.configuration.conversations);
  if (space === null) throw neverKept(request.model);
  const conversationLock = await keptConversations(services.conversations, space).lock(id);
  try {
    // Somebody may have gone on with it since it was looked up.
    return { ...call, conversationLock, history: await findHistory(call) };
  } catch (error) {
    await conversationLock.release().catch(() => undefined);
    throw error;
  }
}

const neverKept = (model: string): GatewayError =>
  new GatewayError('unsupported_parameter', {
    path: ['conversation'],
    message: `'conversation' is not available for model '${model}': nothing is stored of it.`,
  });
