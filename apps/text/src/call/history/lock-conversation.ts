import { GatewayError } from '@gateway/contracts/gateway-error';
import { deliveryOf } from '@gateway/service-kit/delivery';
import { storedConversations } from '../../stored/stored-conversations.ts';
import { type Claimed, conversationIn } from '../request/history.ts';
import { spaceOf } from './conversation-space.ts';
import type { FindHistory, OpenCall } from './find-history.ts';

/**
 * Locks the conversation that a call continues, until the call gives it back.
 *
 * @throws {GatewayError} `conversation_locked` where something else works on it; `outcome_unknown` where the same request was delivered
 * before, to a replica that was lost after it had added to the conversation
 */
export async function lockConversation(
  call: OpenCall,
  id: string,
  findHistory: FindHistory,
): Promise<Claimed> {
  const { services, identity, request, context, caller } = call;
  context.line.conversationId = id;
  const space = spaceOf(identity, request.model, services.upstream.configuration.conversations);
  if (space === null) throw neverKept(request.model);
  const delivery = deliveryOf(caller)?.id ?? null;
  const lock = await storedConversations(services.conversations, space).lock(id, delivery);
  const release = () => lock.release().catch(() => undefined);
  try {
    // Another request may have continued it since it was looked up.
    const history = await findHistory(call);
    if (delivery !== null && conversationIn(history)?.delivery === delivery) throw answerLost(id);
    return { history, release };
  } catch (error) {
    await release();
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
