import { randomBytes } from 'node:crypto';
import {
  type Account,
  Budget,
  type Identity,
  type JobShare,
  KeyLimits,
  KeyPriority,
} from '@gateway/contracts/identity';
import { shownWebhookUrl, WebhookUrl } from '@gateway/contracts/webhooks';
import { z } from 'zod';
import { accountOfTeam, type TeamRecord } from '../teams/team-record.ts';
import {
  endpoints,
  instant,
  type KeySettings,
  modelPatterns,
  name,
  shownBudget,
  toBudget,
} from './settings.ts';
import { WebhookSecret } from './webhooks/webhook-secret.ts';

/** A secret of a key. */
const Secret = z.strictObject({
  /** Null: the one secret of a record of version 1, which does not store its hash. */
  hash: z.string().nullable(),
  /** When it stops working because another one replaced it; null: not planned. */
  until: instant.nullable(),
});
type Secret = z.infer<typeof Secret>;

const FirstRecord = z.strictObject({
  version: z.literal(1),
  id: z.string().startsWith('key_'),
  name,
  team: name.nullable(),
  models: modelPatterns.nullable(),
  endpoints: endpoints.nullable(),
  labels: z.record(z.string(), z.string()),
  createdAt: instant,
  expiresAt: instant.nullable(),
  revokedAt: instant.nullable(),
  disabled: z.boolean(),
});

/** A key as it is stored. `version` grows when a stored record can no longer be read as it is. */
const KeyRecord = FirstRecord.extend({
  version: z.literal(2),
  owner: name.nullable(),
  limits: KeyLimits,
  budget: Budget.nullable(),
  /** The current one first, then at most one whose grace is not over. */
  secrets: z.array(Secret).max(2),
  /** Absent in records from before there were priorities. */
  priority: KeyPriority.default('normal'),
  /** Absent in records from before there were webhooks. */
  webhookUrl: WebhookUrl.nullable().default(null),
  /** As `secrets`. */
  webhookSecrets: z.array(WebhookSecret).max(2).default([]),
});
export type KeyRecord = z.infer<typeof KeyRecord>;

const StoredKey = z.discriminatedUnion('version', [FirstRecord, KeyRecord]);

export function parseKeyRecord(text: string): KeyRecord {
  const stored = StoredKey.parse(JSON.parse(text));
  if (stored.version === 2) return stored;
  const secrets = [{ hash: null, until: null }];
  const webhooks = { webhookUrl: null, webhookSecrets: [] };
  const settings = { owner: null, limits: {}, budget: null, priority: 'normal' } as const;
  return { ...stored, version: 2, ...settings, secrets, ...webhooks };
}

export const newKeyRecord = (
  id: string,
  settings: KeySettings,
  secretHash: string,
  nowMs: number,
): KeyRecord => ({
  version: 2,
  id,
  createdAt: new Date(nowMs).toISOString(),
  revokedAt: null,
  secrets: [{ hash: secretHash, until: null }],
  webhookSecrets: [],
  ...decided(settings),
});

/** The record with other settings; id, secrets and history stay. */
export const withSettings = (record: KeyRecord, settings: KeySettings): KeyRecord => ({
  ...record,
  ...decided(settings),
});

const decided = (settings: KeySettings) => ({
  name: settings.name,
  team: settings.team ?? null,
  owner: settings.owner ?? null,
  models: settings.models ?? null,
  endpoints: settings.endpoints ?? null,
  limits: settings.limits ?? {},
  budget: toBudget(settings.budget),
  expiresAt: settings.expiresAt ?? null,
  disabled: settings.disabled ?? false,
  priority: settings.priority ?? 'normal',
  labels: settings.labels ?? {},
  webhookUrl: settings.webhookUrl ?? null,
});

/** Everything about a key but how its secrets are stored, and its webhook's query; null is what is not set. Fit for people, lists and logs. */
export const shownKey = ({
  version: _version,
  secrets,
  webhookSecrets,
  webhookUrl,
  budget,
  ...rest
}: KeyRecord) => ({
  ...rest,
  webhookUrl: webhookUrl === null ? null : shownWebhookUrl(webhookUrl),
  budget: budget === null ? null : shownBudget(budget),
  /** Until when the secret before the last rotation works; null: it does not. */
  oldSecretUntil: secrets[1]?.until ?? null,
  /** When the secret was made by which its webhooks are signed; null: no webhooks are sent. */
  webhookSecretMadeAt: webhookSecrets[0]?.madeAt ?? null,
  /** Until when webhooks are signed with the one before as well. */
  oldWebhookSecretUntil: webhookSecrets[1]?.until ?? null,
});
export type ShownKey = ReturnType<typeof shownKey>;

/** The secret with this hash, else the one without a stored hash. */
const secretWith = ({ secrets }: KeyRecord, hash: string): Secret | undefined =>
  secrets.find((secret) => secret.hash === hash) ?? secrets.find((secret) => secret.hash === null);

const msOf = (moment: string | null): number =>
  moment === null ? Number.POSITIVE_INFINITY : Date.parse(moment);

/** Until when a key is valid by this secret, in Unix milliseconds (Infinity for ever); undefined if it is not now. */
export function validUntilMs(record: KeyRecord, hash: string, nowMs: number): number | undefined {
  if (record.revokedAt !== null || record.disabled) return undefined;
  const secret = secretWith(record, hash);
  if (secret === undefined) return undefined;
  const untilMs = Math.min(msOf(record.expiresAt), msOf(secret.until));
  return untilMs > nowMs ? untilMs : undefined;
}

export const identityOf = (record: KeyRecord, team: TeamRecord | undefined): Identity => ({
  keyId: record.id,
  keyName: record.name,
  team: record.team,
  models: record.models,
  endpoints: record.endpoints,
  // No account if nothing is limited, so that such a key needs no Redis call.
  accounts: [accountOfKey(record), ...(team === undefined ? [] : [accountOfTeam(team)])].filter(isLimited),
  ...(record.priority !== 'normal' && { priority: record.priority }),
  ...(record.webhookSecrets.length > 0 && { signsWebhooks: true }),
  ...jobShareOf(record),
});

/** What counts against the key; how its jobs are shared out is no limit of that sort. */
export function accountOfKey({ id, limits, budget }: KeyRecord): Account {
  const {
    concurrentJobs: _,
    jobWeight: _weight,
    jobPriority: _priority,
    keptResultBytes: _bytes,
    ...counted
  } = limits;
  return { owner: id, limits: counted, budget };
}

function jobShareOf({ limits }: KeyRecord): { jobShare?: JobShare } {
  const { concurrentJobs, jobWeight, jobPriority, keptResultBytes } = limits;
  const share = { concurrentJobs, jobWeight, jobPriority, keptResultBytes };
  return Object.values(share).some((value) => value !== undefined) ? { jobShare: share } : {};
}

const isLimited = ({ limits: { models = {}, ...limits }, budget }: Account): boolean =>
  budget !== null || [limits, ...Object.values(models)].some(hasLimit);

const hasLimit = (limits: Omit<Account['limits'], 'models'>): boolean =>
  Object.values(limits).some((limit) => limit !== undefined);

/** Base 36 with nine digits holds milliseconds until the year 5188. */
const TIME_DIGITS = 9;
const RANDOM_BYTES = 8;

/** The pattern of every key's id. */
export const KEY_ID = /^key_[0-9a-z_]{1,60}$/;

/** A new key's id. Ids sort as text by creation time, and lists are paged by it. */
export const newKeyId = (nowMs: number): string =>
  `key_${nowMs.toString(36).padStart(TIME_DIGITS, '0')}${randomBytes(RANDOM_BYTES).toString('hex')}`;

/** The bootstrap key's id follows from its hash, so that every process that ensures the key uses the same record. */
export const bootstrapKeyId = (hash: string): string =>
  `key_bootstrap_${Buffer.from(hash, 'base64url').toString('hex').slice(0, 16)}`;
