import type { RequestFilter } from '@gateway/metering/usage/request-filter';
import { type Group, MEASURES } from '@gateway/metering/usage/sums';
import { GROUP_BY, type GroupFilter } from '@gateway/metering/usage/usage-rows';
import { z } from 'zod';
import { type Scope, seesUsage } from '../../sessions/scope.ts';
import { page } from './page.ts';

const sum = z.number().min(0);
const { audioMs: _, refused: _refused, ...counted } = Object.fromEntries(MEASURES.map((name) => [name, sum]));
/** Off by less than a factor of 1.585: they come from buckets. */
const percentiles = { p50: sum.nullable(), p95: sum.nullable() };
export const UsagePage = page(
  z.strictObject({
    ...Object.fromEntries(GROUP_BY.map((name) => [name, z.string().optional()])),
    ...counted,
    /** Null where the answer comes from records, which refusals do not have. */
    refused: sum.nullable(),
    audioSeconds: sum,
    /** Of the requests that ended well; null where none was measured. */
    firstOutputMs: z.strictObject(percentiles),
    totalMs: z.strictObject(percentiles),
  }),
);

const value = z.string().max(300).optional();
const milliseconds = z.coerce.number().min(0).max(86_400_000).optional();

/** Only what has exactly these values; the empty text stands for none. */
const exact = {
  keyId: value,
  team: value,
  model: value,
  channel: value,
  endpoint: value,
  outcome: value,
  errorCode: value,
  status: value,
} satisfies Record<Group, z.ZodType>;

/** What usage is filtered by. */
export const usageFilters = {
  ...exact,
  /** Only requests that did not end well, as `failed` counts them. */
  failed: z.literal('true').optional(),
  /** Only requests that their callers named so. */
  endUser: value,
  session: value,
  label: value,
  /** Only requests of keys of this owner. */
  owner: value,
};

/** What single requests are filtered by. */
export const requestFilters = {
  ...usageFilters,
  /** A part of a request id or of a record's id. */
  id: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{4,128}$/, 'at least four letters, digits or one of . _ : - of an id')
    .optional(),
  minTotalMs: milliseconds,
  minFirstOutputMs: milliseconds,
  /** Only requests with an attempt of this channel, or with this outcome, whichever channel answered. */
  attemptChannel: value,
  attemptOutcome: z
    .string()
    .regex(/^[a-z-]{1,40}$/, 'ok, or a kind of failure such as rate-limited')
    .optional(),
};

type UsageFilters = z.infer<z.ZodObject<typeof usageFilters>>;
type RequestFilters = z.infer<z.ZodObject<typeof requestFilters>>;

/** The ids of the keys of an owner. */
export type KeysOfOwner = (owner: string) => Promise<ReadonlySet<string>>;

/** What a call's query wants of usage, of what a person sees. */
export async function groupFilterOf(
  { failed, endUser, session, label, owner, ...only }: UsageFilters,
  scope: Scope,
  keysOf: KeysOfOwner,
): Promise<GroupFilter & Pick<RequestFilter, 'names'>> {
  const owned = owner === undefined ? null : await keysOf(owner);
  const sees = seesUsage(scope);
  const isSeenByAll = scope.kind === 'all' && owned === null;
  return {
    only,
    isFailed: failed !== undefined,
    names: { endUser, session, label },
    ...(!isSeenByAll && { whose: (usage) => sees(usage) && (owned?.has(usage.keyId) ?? true) }),
  };
}

/** What a call's query wants of single requests, of those that a person sees. */
export async function requestFilterOf(
  filters: RequestFilters,
  scope: Scope,
  keysOf: KeysOfOwner,
): Promise<RequestFilter> {
  const { id, minTotalMs, minFirstOutputMs, attemptChannel, attemptOutcome, ...groups } = filters;
  const attempt = { channel: attemptChannel, outcome: attemptOutcome };
  return {
    ...(await groupFilterOf(groups, scope, keysOf)),
    ...{ idPart: id, minTotalMs, minFirstOutputMs },
    ...((attempt.channel ?? attempt.outcome) !== undefined && { attempt }),
  };
}
