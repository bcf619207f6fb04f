import { GatewayError } from '@gateway/contracts/gateway-error';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { Histogram } from '@gateway/metering/usage/latency';
import { isWantedRequest } from '@gateway/metering/usage/request-filter';
import { GROUP_BY, type GroupBy, type UsageRow } from '@gateway/metering/usage/usage-rows';
import type { UsageStore } from '@gateway/records/usage/usage-store';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, streamRoute } from '../../api/admin-route.ts';
import {
  groupFilterOf,
  requestFilterOf,
  requestFilters,
  UsagePage,
  usageFilters,
} from '../../api/schemas/traffic.ts';
import { EXPORT_FORMATS, exportRecords } from './export-records.ts';
import { rangeOf, rangeQuery } from './usage-range.ts';

const UsageQuery = z.strictObject({
  ...rangeQuery,
  /** Names of groups, separated by commas. */
  groupBy: z.string().max(200).default(''),
  ...usageFilters,
});
const RecordsQuery = z.strictObject({
  ...rangeQuery,
  format: z.enum(['csv', 'ndjson']).default('ndjson'),
  ...requestFilters,
});

interface UsageRoutesOptions {
  readonly usage: Pick<UsageStore, 'sums' | 'all'>;
  readonly now: () => number;
}

/** What was used: sums by group, and every single record. */
export function usageRoutes({ usage, now }: UsageRoutesOptions): AdminRoute[] {
  return [
    adminRoute({
      method: 'GET',
      path: '/admin/v1/usage',
      summary: `Usage totals, grouped by any of ${GROUP_BY.join(', ')}; whole hours (UTC), and days of timeZone`,
      body: NO_BODY,
      query: UsageQuery,
      reply: UsagePage,
      handle: async ({ query: { from, to, timeZone, groupBy, ...filters }, principal: { scope } }) => {
        const query = {
          ...rangeOf({ from, to, timeZone }, now()),
          groupBy: groupsOf(groupBy),
          timeZone,
          ...groupFilterOf(filters, scope),
        };
        const rows = await awaitRedis(usage.sums(query));
        return { data: rows.map(shownRow), next: null };
      },
    }),
    streamRoute({
      method: 'GET',
      path: '/admin/v1/usage/records',
      summary: 'Every usage record of a period, in the order in which the requests ended, as CSV or NDJSON',
      body: NO_BODY,
      query: RecordsQuery,
      reply: Object.values(EXPORT_FORMATS).map(({ contentType }) => contentType),
      handle: ({ query: { from, to, timeZone, format, ...filters }, principal: { scope } }) => {
        const wanted = requestFilterOf(filters, scope);
        return {
          contentType: EXPORT_FORMATS[format].contentType,
          stream: exportRecords(
            usage.all(rangeOf({ from, to, timeZone }, now())),
            (record) => isWantedRequest(record, wanted),
            format,
          ),
        };
      },
    }),
  ];
}

function groupsOf(text: string): GroupBy[] {
  return [...new Set(text.split(',').map((name) => name.trim()))]
    .filter((name) => name !== '')
    .map((name) => {
      const group = GROUP_BY.find((known) => known === name);
      if (group !== undefined) return group;
      throw new GatewayError('invalid_value', {
        message: `Invalid value: '${name}'. Usage can be grouped by ${GROUP_BY.join(', ')}.`,
        path: ['groupBy'],
      });
    });
}

const shownRow = ({ group, sums: { audioMs, ...sums }, latencies }: UsageRow) => ({
  ...group,
  ...(group.hour === undefined ? {} : { hour: `${group.hour}:00:00Z` }),
  ...sums,
  audioSeconds: audioMs / 1000,
  firstOutputMs: percentiles(latencies.firstOutputMs),
  totalMs: percentiles(latencies.totalMs),
});

const percentiles = (times: Histogram) => ({ p50: times.quantile(0.5), p95: times.quantile(0.95) });
