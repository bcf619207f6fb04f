import type { Affinity } from '@gateway/upstream/catalog';
import { isMadeAt } from '../../stored/origins/maker.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';
import { sessionIn } from '../request/conversation-key.ts';
import type { OpenedCall } from '../request/text-call.ts';

/**
 * The candidate that has a call's conversation in its prompt cache. It is the maker of the reply that the call continues; else the
 * one that gets all requests with the same conversation key. Null: nothing shows which requests belong together.
 * A conversation key counts for one caller's key only, so that no caller can steer the requests of others.
 */
export function affinityOf(call: OpenedCall): Affinity | null {
  const { endpoint, request, caller, identity, history } = call;
  const last = history.continued?.servedBy ?? null;
  if (last !== null) return { at: (candidate) => isMadeAt(last, candidate) };
  const key = commonKey(endpoint.protocol, request.conversationKey, sessionIn(caller.headers));
  return key === null ? null : { key: `${identity.keyId}\n${key}` };
}

/** A session is narrower than a user, so it comes first in Messages. It may be wider than one prompt cache, so elsewhere the key comes first. */
const commonKey = (protocol: TextProtocol, key: string | null, session: string | null): string | null =>
  protocol === 'messages' ? (session ?? key) : (key ?? session);
