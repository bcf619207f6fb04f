import type { IncomingHttpHeaders } from 'node:http';
import type { Affinity } from '@gateway/upstream/catalog';
import { isMadeAt } from '../stored/maker.ts';
import { type JsonObject, objectAt, objectOf, textAt } from '../wire/json-object.ts';
import type { TextProtocol } from '../wire/text-protocol.ts';
import { servedBefore } from './history.ts';
import type { TextCall } from './text-call.ts';

/** No client's ids of sessions are as long. */
const MAX_CHARS = 512;

/** What Codex and Claude Code call a session; each of its requests repeats the conversation so far. */
const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'session_id', 'conversation_id'] as const;

/** The members that requests of one conversation have in common, best first. */
const MEMBERS: Readonly<Record<TextProtocol, (body: JsonObject) => string | null>> = {
  responses: (body) =>
    textAt(body, 'conversation') ??
    textAt(objectOf(body.conversation), 'id') ??
    textAt(body, 'prompt_cache_key'),
  chat: (body) => textAt(body, 'prompt_cache_key'),
  // Claude Code's names its session too. Of other clients it is a person, whose conversations often begin alike.
  messages: (body) => textAt(objectAt(body, 'metadata') ?? {}, 'user_id'),
};

/** The body's key of the conversation that a request belongs to; null where it has none. */
export const conversationKeyIn = (protocol: TextProtocol, body: JsonObject): string | null =>
  MEMBERS[protocol](body)?.slice(0, MAX_CHARS) ?? null;

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

const sessionIn = (headers: IncomingHttpHeaders): string | null => {
  const value = SESSION_HEADERS.flatMap((name) => headers[name] ?? []).find((one) => one !== '');
  return value?.slice(0, MAX_CHARS) ?? null;
};

/** A session is less than all that a user does, and may be more than what shares a prompt cache. */
const commonKey = (protocol: TextProtocol, key: string | null, session: string | null): string | null =>
  protocol === 'messages' ? (session ?? key) : (key ?? session);
