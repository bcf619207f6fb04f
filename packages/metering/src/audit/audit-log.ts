import type { ChainableCommander, Redis } from 'ioredis';
import { z } from 'zod';
import { type ReportBroken, readStored } from '../broken-records.ts';
import { awaitRedis } from '../keys/await-redis.ts';
import { keyNames } from '../redis-names.ts';

/** Who makes a change: a name that the admin's client gave, and the request by which it came. */
export interface Actor {
  readonly who: string;
  readonly requestId: string | null;
}

/** For changes that the gateway makes itself. */
export const GATEWAY_ITSELF: Actor = { who: 'gateway', requestId: null };

export const AUDIT_ACTIONS = [
  'key.created',
  'key.changed',
  'key.rotated',
  'key.webhook_secret_rotated',
  'key.revoked',
  'team.created',
  'team.changed',
  'team.deleted',
  'channel.rested',
  'channel.woken',
  'session.opened',
  'session.ended',
] as const;

const shown = z.record(z.string(), z.unknown()).nullable();

/** One change. `before` and `after` are what the admin API shows of it, never a secret or its hash. */
export const AuditEntry = z.object({
  at: z.string(),
  who: z.string(),
  requestId: z.string().nullable(),
  action: z.enum(AUDIT_ACTIONS),
  /** The id of the key or the session, or the name of the team or the channel. */
  subject: z.string(),
  before: shown,
  after: shown,
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** About how many entries the log keeps; older ones are dropped. */
export const MAX_AUDIT_ENTRIES = 100_000;

/** Adds an entry to the transaction that makes the change, so that neither is there without the other. */
export function addAuditEntry(transaction: ChainableCommander, entry: AuditEntry): void {
  const text = JSON.stringify(entry);
  transaction.xadd(keyNames.audit, 'MAXLEN', '~', MAX_AUDIT_ENTRIES, '*', 'entry', text);
}

interface AuditRequest {
  readonly limit: number;
  readonly after?: string | undefined;
  readonly onBroken?: ReportBroken;
}

export interface AuditPage {
  readonly entries: readonly (AuditEntry & { readonly id: string })[];
  /** What to pass as `after` for the next page; null on the last one. */
  readonly next: string | null;
}

/**
 * The newest first. An entry that cannot be read is reported and left out.
 *
 * @throws {GatewayError} `service_unavailable` when Redis does not answer
 */
export async function readAudit(
  redis: Redis,
  { limit, after, onBroken = () => undefined }: AuditRequest,
): Promise<AuditPage> {
  const from = after === undefined ? '+' : `(${after}`;
  const found = await awaitRedis(redis.xrevrange(keyNames.audit, from, '-', 'COUNT', limit + 1));
  const page = found.slice(0, limit);
  const entries = page.flatMap(([id, [, text = '']]) => {
    const entry = readStored(text, parseEntry, { kind: 'audit_entry', id }, onBroken);
    return entry === undefined ? [] : [{ id, ...entry }];
  });
  return { entries, next: found.length > limit ? (page.at(-1)?.[0] ?? null) : null };
}

const parseEntry = (text: string): AuditEntry => AuditEntry.parse(JSON.parse(text));
