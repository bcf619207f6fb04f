import type { IncomingHttpHeaders } from 'node:http';
import type { CallerNames } from '@gateway/contracts/usage/caller-names';
import { callerNamesIn } from '@gateway/model-service/caller-names';
import { type JsonObject, objectAt, objectOf, textAt } from '../../wire/json-object.ts';
import type { TextProtocol } from '../../wire/text-protocol.ts';
import type { History } from './history.ts';
import type { OpenedCall } from './text-call.ts';

/** The session ids of known clients are shorter. */
const MAX_CHARS = 512;

/** The session headers of Codex and Claude Code. Each request of a session repeats the conversation. */
const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'session_id', 'conversation_id'] as const;

/** The members that requests of one conversation have in common, best first. */
const MEMBERS: Readonly<Record<TextProtocol, (body: JsonObject) => string | null>> = {
  responses: (body) =>
    textAt(body, 'conversation') ??
    textAt(objectOf(body.conversation), 'id') ??
    textAt(body, 'prompt_cache_key'),
  chat: (body) => textAt(body, 'prompt_cache_key'),
  gemini: () => null,
  // In Claude Code's requests it names the session. In others it names a person, whose conversations often begin alike.
  messages: (body) => textAt(objectAt(body, 'metadata') ?? {}, 'user_id'),
};

const SESSION_OF_USER = /_session_[\w-]+$/;

/** Whom a request was sent for, as its body names them. Claude Code names its session behind the person. */
export const endUserIn = (protocol: TextProtocol, body: JsonObject): string | null =>
  protocol === 'messages'
    ? (textAt(objectAt(body, 'metadata') ?? {}, 'user_id')?.replace(SESSION_OF_USER, '') ?? null)
    : (textAt(body, 'safety_identifier') ?? textAt(body, 'user'));

/** The body's key of the conversation that a request belongs to; null where it has none. */
export const conversationKeyIn = (protocol: TextProtocol, body: JsonObject): string | null =>
  MEMBERS[protocol](body)?.slice(0, MAX_CHARS) ?? null;

/** The session that a client's headers name; null where they name none. */
export const sessionIn = (headers: IncomingHttpHeaders): string | null => {
  const value = SESSION_HEADERS.flatMap((name) => headers[name] ?? []).find((one) => one !== '');
  return value?.slice(0, MAX_CHARS) ?? null;
};

/** Who a request is for and its session, as its body and its client's headers name them, or what it continues. In Messages, the body's key of a conversation names a person. */
export const namesIn = (
  protocol: TextProtocol,
  { endUser, conversationKey }: { readonly endUser: string | null; readonly conversationKey: string | null },
  headers: IncomingHttpHeaders,
  { continued }: Pick<History, 'continued'>,
): { readonly endUser: string | null; readonly session: string | null } => ({
  endUser,
  session:
    sessionIn(headers) ?? (protocol === 'messages' ? null : conversationKey) ?? continued?.session ?? null,
});

/** By which the usage of a call is found. */
export const namesOf = ({
  endpoint: { protocol },
  request,
  caller: { headers },
  history,
}: Pick<OpenedCall, 'endpoint' | 'request' | 'caller' | 'history'>): CallerNames =>
  callerNamesIn(headers, namesIn(protocol, request, headers, history));
