import { EndpointScope, type Identity } from '@gateway/contracts/identity';
import { problem } from '@gateway/contracts/wire-types';
import { z } from 'zod';

const MOST_LABELS = 50;

const name = z.string().min(1).max(200);
const instant = z.iso.datetime({ offset: true });
const modelPatterns = z.array(z.string().min(1).max(200)).min(1).max(200);
const endpoints = z.array(EndpointScope).min(1);
const labels = z.record(z.string().min(1).max(100), z.string().max(500)).superRefine((all, context) => {
  if (Object.keys(all).length <= MOST_LABELS) return;
  const tooMany = `There may be at most ${MOST_LABELS} labels.`;
  context.addIssue(problem([], { code: 'invalid_value', openai: tooMany, anthropic: tooMany }));
});

/** What the maker of a key decides. Absent `models` or `endpoints` mean all of them. Times are ISO 8601. */
export const NewKey = z.strictObject({
  name,
  team: name.optional(),
  models: modelPatterns.optional(),
  endpoints: endpoints.optional(),
  expiresAt: instant.optional(),
  labels: labels.optional(),
});
export type NewKey = z.infer<typeof NewKey>;

/** A key as it is stored, without its secret. `version` grows when a stored record can no longer be read as it is. */
export const KeyRecord = z.strictObject({
  version: z.literal(1),
  id: z.string().startsWith('key_'),
  name,
  team: name.nullable(),
  models: modelPatterns.nullable(),
  endpoints: endpoints.nullable(),
  labels,
  createdAt: instant,
  expiresAt: instant.nullable(),
  revokedAt: instant.nullable(),
  disabled: z.boolean(),
});
export type KeyRecord = z.infer<typeof KeyRecord>;

export const newRecord = (id: string, key: NewKey, nowMs: number): KeyRecord => ({
  version: 1,
  id,
  name: key.name,
  team: key.team ?? null,
  models: key.models ?? null,
  endpoints: key.endpoints ?? null,
  labels: key.labels ?? {},
  createdAt: new Date(nowMs).toISOString(),
  expiresAt: key.expiresAt ?? null,
  revokedAt: null,
  disabled: false,
});

/** When a key stops being valid by itself, in Unix milliseconds; Infinity for never. */
export const expiryMs = ({ expiresAt }: KeyRecord): number =>
  expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);

export const isUsable = (record: KeyRecord): boolean => record.revokedAt === null && !record.disabled;

export const identityOf = (record: KeyRecord): Identity => ({
  keyId: record.id,
  keyName: record.name,
  team: record.team,
  models: record.models,
  endpoints: record.endpoints,
});
