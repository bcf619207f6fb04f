import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { GROUPS, type Group, MEASURES } from '@gateway/metering/usage/sums';
import { GROUP_BY } from '@gateway/metering/usage/usage-rows';
import { z } from 'zod';
import { page } from './page.ts';

const sum = z.number().min(0);
const { audioMs: _, ...counted } = Object.fromEntries(MEASURES.map((name) => [name, sum]));
/** Off by less than a factor of 1.585: they come from buckets. */
const percentiles = { p50: sum.nullable(), p95: sum.nullable() };
export const UsagePage = page(
  z.strictObject({
    ...Object.fromEntries(GROUP_BY.map((name) => [name, z.string().optional()])),
    ...counted,
    audioSeconds: sum,
    /** Of the requests that ended well; null where none was measured. */
    firstOutputMs: z.strictObject(percentiles),
    totalMs: z.strictObject(percentiles),
  }),
);

const value = z.string().max(300).optional();

/** Only what has exactly these values; the empty text stands for none. */
export const usageFilters = {
  keyId: value,
  team: value,
  model: value,
  channel: value,
  endpoint: value,
  outcome: value,
} satisfies Record<Group, z.ZodType>;

export const hasValues = (record: UsageRecord, only: Partial<Record<Group, string | undefined>>): boolean =>
  GROUPS.every((name) => only[name] === undefined || only[name] === (record[name] ?? ''));
