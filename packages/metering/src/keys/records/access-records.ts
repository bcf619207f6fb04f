import type { Actor, AuditEntry } from '../../audit/audit-log.ts';

/** What is kept of those who may use the gateway: keys by their ids, teams by their names. */
export type RecordKind = 'key' | 'team';

/** A change of one record; everything in it happens, or nothing. */
export interface RecordChange {
  readonly kind: RecordKind;
  readonly id: string;
  /** The record's text as it was read; null: there must be none. */
  readonly before: string | null;
  /** The new record; null deletes it. */
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly by: Actor;
  /** What the audit log shows. */
  readonly audit: Pick<AuditEntry, 'action' | 'before' | 'after'>;
}

export const KEY_STATES = ['active', 'disabled', 'expired', 'revoked'] as const;
export type KeyState = (typeof KEY_STATES)[number];

/** Which records a list has. Absent members do not count. */
export interface RecordFilter {
  readonly ids?: readonly string[] | undefined;
  /** Of one of these teams. */
  readonly teams?: readonly string[] | undefined;
  /** In one of these states at this moment. */
  readonly states?: { readonly of: readonly KeyState[]; readonly nowMs: number } | undefined;
  readonly hasBudget?: boolean | undefined;
  /** Expiring by this moment, in Unix milliseconds. */
  readonly expiresBy?: number | undefined;
  /** A part of a name, an id, an owner, a team or a label, in upper or lower case. */
  readonly search?: string | undefined;
}

/** What keys are sorted by: when they were made, or what they were used for. */
export const KEY_SORTS = ['created', 'lastUsed', 'requests', 'spend'] as const;

export interface KeyOrder {
  readonly by: (typeof KEY_SORTS)[number];
  readonly isAscending: boolean;
}

/** How much a key is used: as of the last second or so. */
export interface KeyUse {
  /** When a request with it ended last, as far as records of usage go back; null: there is none. */
  readonly lastUsedMs: number | null;
  /** Of the last 30 days (UTC), this one included. */
  readonly requests: number;
  readonly microUsd: number;
}

export interface PageRequest {
  readonly limit: number;
  readonly only?: RecordFilter | undefined;
  /** Of keys. Absent: the newest first. */
  readonly order?: KeyOrder | undefined;
  /** `next` of the page before. */
  readonly after?: string | undefined;
}

export interface RecordPage {
  readonly records: readonly {
    readonly id: string;
    readonly text: string;
    /** Of a key. */
    readonly use?: KeyUse;
  }[];
  readonly next: string | null;
}

/** Where records lie. All throw a `GatewayError` `service_unavailable` where that does not answer. */
export interface AccessRecords {
  get(kind: RecordKind, id: string): Promise<string | null>;
  /** Keys in the order that is asked for, teams by name. */
  list(kind: RecordKind, page: PageRequest): Promise<RecordPage>;
  /** False if the record has changed since it was read. Who looks keys up knows it when this resolves. */
  change(change: RecordChange): Promise<boolean>;
}

const MAX_ATTEMPTS = 10;

/** Repeats `attempt` while it returns undefined, which means that the record changed since it was read. */
export async function untilChanged<T>(id: string, attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < MAX_ATTEMPTS; count += 1) {
    const done = await attempt();
    if (done !== undefined) return done;
  }
  throw new Error(`${id} changes faster than it can be read`);
}
