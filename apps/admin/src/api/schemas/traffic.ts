import { MEASURES } from '@gateway/metering/usage/sums';
import { GROUP_BY } from '@gateway/metering/usage/usage-query';
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
