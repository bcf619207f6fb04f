import type { Account } from '../configuration/configuration.ts';
import { OPERATIONS, type Operation, type Protocol } from '../protocol.ts';

/** The Messages protocol requires a version; a caller with a bearer key may leave it out. */
const DEFAULT_ANTHROPIC_VERSION = '2023-06-01';

/** As Node gives them. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

interface Allowed {
  readonly names: readonly string[];
  /** Prefixes of names: a protocol's own headers, also future ones, which belong to members of its bodies. */
  readonly prefixes: readonly string[];
}

/** Headers with the same meaning under every protocol. */
const SHARED = ['accept', 'accept-language', 'content-type', 'traceparent', 'tracestate', 'user-agent'];

const OPENAI: Allowed = { names: [...SHARED, 'x-client-request-id'], prefixes: ['openai-'] };

/**
 * The caller's headers that go to a provider, by the protocol of the request there. All others are dropped: credentials,
 * addresses, headers of one connection, and clients' data about their machine. `idempotency-key` is dropped too: all
 * callers share the channel's account, where the same key of two callers would mean the same request.
 */
const ALLOWED: Readonly<Record<Protocol, Allowed>> = {
  // `OpenResponses-Version` is of the open specification. The others are Codex's; it gets `x-codex-turn-state` from the provider and sends it back.
  responses: {
    names: [...OPENAI.names, 'conversation_id', 'originator', 'session-id', 'session_id', 'version'],
    prefixes: [...OPENAI.prefixes, 'x-codex-', 'x-openai-', 'openresponses-'],
  },
  messages: { names: SHARED, prefixes: ['anthropic-'] },
  chat: OPENAI,
  gemini: { names: SHARED, prefixes: [] },
  converse: { names: SHARED, prefixes: [] },
  images: OPENAI,
  speech: OPENAI,
  transcriptions: OPENAI,
  embeddings: OPENAI,
  rerank: OPENAI,
  moderations: OPENAI,
  completions: OPENAI,
  translations: OPENAI,
  realtime: OPENAI,
};

/** A protocol's own headers that choose an account. They are dropped: the account is the channel's. */
const OF_ACCOUNTS: ReadonlySet<string> = new Set([
  'openai-organization',
  'openai-project',
  'anthropic-organization-id',
  'anthropic-workspace-id',
]);

const decisions: Readonly<Record<Protocol, Map<string, boolean>>> = {
  responses: new Map(),
  messages: new Map(),
  chat: new Map(),
  gemini: new Map(),
  converse: new Map(),
  images: new Map(),
  speech: new Map(),
  transcriptions: new Map(),
  embeddings: new Map(),
  rerank: new Map(),
  moderations: new Map(),
  completions: new Map(),
  translations: new Map(),
  realtime: new Map(),
};
const MAX_DECISIONS = 1_000;

/** Decided once per name: callers send the same few dozen names over and over. */
const isAllowed = (protocol: Protocol, name: string): boolean => {
  const known = decisions[protocol].get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  const { names, prefixes } = ALLOWED[protocol];
  const listed = names.includes(lower) || prefixes.some((prefix) => lower.startsWith(prefix));
  const allowed = listed && !OF_ACCOUNTS.has(lower);
  if (decisions[protocol].size >= MAX_DECISIONS) decisions[protocol].clear();
  decisions[protocol].set(name, allowed);
  return allowed;
};

/** Names that the caller's `connection` header declares to be of one connection only. */
const connectionNames = (value: RequestHeaders[string]): ReadonlySet<string> | null => {
  if (value === undefined || value === 'keep-alive' || value === 'close') return null;
  return new Set(
    String(value)
      .toLowerCase()
      .split(/\s*,\s*/),
  );
};

/**
 * The flat list of names and values for the provider: the caller's allowed headers, and the account's own.
 *
 * @param versioned a Messages request has its version in a header
 */
export const upstreamHeaders = (
  { secrets }: Account,
  callers: RequestHeaders,
  operation: Operation,
  contentLengthBytes: number | null,
  versioned = true,
): string[] => {
  const list: string[] = [];
  const protocol = OPERATIONS[operation];
  const ofConnection = connectionNames(callers.connection);
  for (const name in callers) {
    const value = callers[name];
    if (value === undefined || !isAllowed(protocol, name)) continue;
    if (secrets.names.has(name) || ofConnection?.has(name)) continue;
    if (typeof value === 'string') list.push(name, value);
    else for (const one of value) list.push(name, one);
  }
  if (versioned && protocol === 'messages' && callers['anthropic-version'] === undefined) {
    list.push('anthropic-version', DEFAULT_ANTHROPIC_VERSION);
  }
  for (const [name, value] of secrets.headers) list.push(name, value);
  if (contentLengthBytes !== null) list.push('content-length', String(contentLengthBytes));
  return list;
};
