import type { ChainableCommander } from 'ioredis';
import { z } from 'zod';
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
  'configuration.changed',
  'configuration.tried',
  'session.opened',
  'session.ended',
  'person.invited',
  'person.changed',
  'person.link_created',
  'person.link_revoked',
  'person.password_set',
  'person.signed_out',
  'person.deleted',
  'group_rule.changed',
  'group_rule.deleted',
  'content.read',
  'content.deleted',
  'content.erased',
] as const;

const shown = z.record(z.string(), z.unknown()).nullable();

/** One change. `before` and `after` are what the admin API shows of it, never a secret or its hash. */
export const AuditEntry = z.object({
  at: z.string(),
  who: z.string(),
  requestId: z.string().nullable(),
  action: z.enum(AUDIT_ACTIONS),
  /** The id of the key, the session, the person or the request, or the name of the team, the channel, the group or the end user. */
  subject: z.string(),
  before: shown,
  after: shown,
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** About how many entries the log keeps; older ones are dropped. */
export const MAX_AUDIT_ENTRIES = 100_000;

/**
 * Adds an entry to the transaction of Redis that makes the change, so that neither is there without the other. From there it comes
 * into the database.
 */
export function addAuditEntry(transaction: ChainableCommander, entry: AuditEntry): void {
  const text = JSON.stringify(entry);
  transaction.xadd(keyNames.audit, 'MAXLEN', '~', MAX_AUDIT_ENTRIES, '*', 'entry', text);
}

export interface AuditPage {
  readonly entries: readonly (AuditEntry & { readonly id: string })[];
  /** What to pass as `after` for the next page; null on the last one. */
  readonly next: string | null;
}

export const parseAuditEntry = (text: string): AuditEntry => AuditEntry.parse(JSON.parse(text));
