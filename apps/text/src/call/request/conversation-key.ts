import type { IncomingHttpHeaders } from 'node:http';
import { type JsonObject, objectAt, objectOf, textAt } from '../../wire/json-object.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';

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

/** The session that a client's headers name; null where they name none. */
export const sessionIn = (headers: IncomingHttpHeaders): string | null => {
  const value = SESSION_HEADERS.flatMap((name) => headers[name] ?? []).find((one) => one !== '');
  return value?.slice(0, MAX_CHARS) ?? null;
};
