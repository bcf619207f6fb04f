import type { Affinity } from '@gateway/upstream/catalog';
import { isMadeAt } from '../../stored/maker.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';
import { sessionIn } from '../request/conversation-key.ts';
import { servedBefore } from '../request/history.ts';
import type { TextCall } from '../request/text-call.ts';

/**
 * Where a call's candidates have its conversation in their prompt cache: at the one that gave the reply which it continues,
 * else wherever the requests with the same key of its conversation go. Null: nothing shows which requests belong together.
 * Such a key counts for one caller's key, so that nobody can aim at the channels of others.
 */
export function affinityOf(call: TextCall): Affinity | null {
  const { endpoint, request, message, identity, history, thread } = call;
  const last = servedBefore(history) ?? thread?.servedBy ?? null;
  if (last !== null) return { at: (candidate) => isMadeAt(last, candidate) };
  const key = commonKey(endpoint.protocol, request.conversationKey, sessionIn(message.headers));
  return key === null ? null : { key: `${identity.keyId}\n${key}` };
}

/** A session is less than all that a user does, and may be more than what shares a prompt cache. */
const commonKey = (protocol: TextProtocol, key: string | null, session: string | null): string | null =>
  protocol === 'messages' ? (session ?? key) : (key ?? session);
