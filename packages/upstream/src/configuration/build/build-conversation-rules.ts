import type { ConversationRules } from '../configuration.ts';
import type { ConversationsEntry } from '../file-schema.ts';

const DAY_MS = 86_400_000;
const DEFAULT_RETENTION_DAYS = 30;
const DEFAULT_MAX_BYTES_PER_KEY = 1024 ** 3;
const DEFAULT_MAX_CHAIN_LENGTH = 2000;
/** Larger than any model's context, pictures included; all of it is in memory while a request is built. */
const DEFAULT_MAX_CHAIN_BYTES = 64 * 1024 ** 2;

/** The rules from the file's section, which may be absent. */
export const buildConversationRules = (entry: ConversationsEntry | null): ConversationRules => ({
  retentionMs: Math.round((entry?.retentionDays ?? DEFAULT_RETENTION_DAYS) * DAY_MS),
  maxBytesPerKey: entry?.maxBytesPerKey ?? DEFAULT_MAX_BYTES_PER_KEY,
  maxChainLength: entry?.maxChainLength ?? DEFAULT_MAX_CHAIN_LENGTH,
  maxChainBytes: entry?.maxChainBytes ?? DEFAULT_MAX_CHAIN_BYTES,
  neverKept: { keys: entry?.neverKept?.keys ?? [], models: entry?.neverKept?.models ?? [] },
  sharingTeams: entry?.sharingTeams ?? [],
});
