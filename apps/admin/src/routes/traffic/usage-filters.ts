import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { GROUPS, type Group } from '@gateway/metering/usage/sums';
import { z } from 'zod';

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
