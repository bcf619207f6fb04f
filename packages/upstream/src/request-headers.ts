import type { Channel } from './configuration/configuration.ts';
import { OPERATIONS, type Operation } from './protocol.ts';

/** The Messages protocol requires a version; a caller with a bearer key may leave it out. */
const DEFAULT_ANTHROPIC_VERSION = '2023-06-01';

/** As Node gives them. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Headers of a caller that are not for providers. */
const WITHHELD: ReadonlySet<string> = new Set([
  // Of one connection only (RFC 9110, 7.6.1), or made anew for each
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
  'host',
  'content-length',
  'accept-encoding',
  'content-encoding',
  // Who the caller is to the gateway
  'authorization',
  'x-api-key',
  'api-key',
  'cookie',
  'x-request-id',
  'prefer',
  'idempotency-key',
  // Accounts that belong to the caller's own key, not to the channel's
  'openai-organization',
  'openai-project',
  // Where the caller is
  'forwarded',
  'via',
  'x-real-ip',
  'true-client-ip',
  'origin',
  'referer',
]);
const WITHHELD_PREFIXES = ['x-gateway-', 'x-forwarded-', 'proxy-', 'cf-', 'sec-'] as const;

const decisions = new Map<string, boolean>();
const MAX_DECISIONS = 1_000;

/** Decided once per name: callers send the same few dozen names over and over. */
const isWithheld = (name: string): boolean => {
  const known = decisions.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  const withheld = WITHHELD.has(lower) || WITHHELD_PREFIXES.some((prefix) => lower.startsWith(prefix));
  if (decisions.size >= MAX_DECISIONS) decisions.clear();
  decisions.set(name, withheld);
  return withheld;
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

/** The flat list of names and values that goes to the provider: what may pass of the caller's, and the channel's own. */
export const upstreamHeaders = (
  channel: Channel,
  callers: RequestHeaders,
  operation: Operation,
  contentLengthBytes: number | null,
): string[] => {
  const list: string[] = [];
  const { secrets } = channel;
  const ofConnection = connectionNames(callers.connection);
  for (const name in callers) {
    const value = callers[name];
    if (value === undefined || isWithheld(name) || secrets.names.has(name) || ofConnection?.has(name))
      continue;
    if (typeof value === 'string') list.push(name, value);
    else for (const one of value) list.push(name, one);
  }
  if (OPERATIONS[operation] === 'messages' && callers['anthropic-version'] === undefined) {
    list.push('anthropic-version', DEFAULT_ANTHROPIC_VERSION);
  }
  for (const [name, value] of secrets.headers) list.push(name, value);
  if (contentLengthBytes !== null) list.push('content-length', String(contentLengthBytes));
  return list;
};
