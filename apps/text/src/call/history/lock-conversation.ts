import { GatewayError } from '@gateway/contracts/gateway-error';
import { deliveryOf } from '@gateway/service-kit/delivery';
import { storedConversations } from '../../stored/stored-conversations.ts';
import { conversationIn } from '../request/history.ts';
import { type HeldCall, NOTHING_HELD, type OpenedCall } from '../request/text-call.ts';
import { spaceOf } from './conversation-space.ts';
import { findHistory } from './find-history.ts';

/**
 * Locks the conversation that a call continues, if there is one, until the call gives it back.
 *
 * @throws {GatewayError} `conversation_locked` where something else works on it; `outcome_unknown` where the same request was delivered
 * before, to a replica that was lost after it had added to the conversation
 */
export async function lockConversation(call: OpenedCall): Promise<HeldCall> {
  const conversation = conversationIn(call.history);
  return conversation === null ? { ...call, ...NOTHING_HELD } : lock(call, conversation.id);
}

async function lock(call: OpenedCall, id: string): Promise<HeldCall> {
  const { services, identity, request } = call;
  call.context.line.conversationId = id;
  const space = spaceOf(identity, request.model, services.upstream.configuration.conversations);
  if (space === null) throw neverKept(request.model);
  const delivery = deliveryOf(call.caller)?.id ?? null;
  const conversationLock = await storedConversations(services.conversations, space).lock(id, delivery);
  try {
    // Another request may have continued it since it was looked up.
    const current = await findHistory(call);
    if (delivery !== null && conversationIn(current)?.delivery === delivery) throw answerLost(id);
    return { ...call, thread: null, conversationLock, history: current };
  } catch (error) {
    await conversationLock.release().catch(() => undefined);
    throw error;
  }
}

const answerLost = (id: string): GatewayError =>
  new GatewayError('outcome_unknown', {
    message: `The response was generated and added to conversation '${id}', but its service was lost before it could answer. Read the conversation's items.`,
    retry: false,
  });

const neverKept = (model: string): GatewayError =>
  new GatewayError('unsupported_parameter', {
    path: ['conversation'],
    message: `'conversation' is not available for model '${model}': nothing is stored of it.`,
  });
