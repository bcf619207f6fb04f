import { GatewayError } from '@gateway/contracts/gateway-error';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import type { Histogram } from '@gateway/metering/usage/latency';
import { isWantedRequest } from '@gateway/metering/usage/request-filter';
import {
  GROUP_BY,
  type GroupBy,
  isOfRecords,
  type UsageQuery,
  type UsageRow,
} from '@gateway/metering/usage/usage-rows';
import type { UsageStore } from '@gateway/records/usage/usage-store';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, streamRoute } from '../../api/admin-route.ts';
import {
  groupFilterOf,
  type KeysOfOwner,
  requestFilterOf,
  requestFilters,
  UsagePage,
  usageFilters,
} from '../../api/schemas/traffic.ts';
import { seesKey } from '../../sessions/scope.ts';
import { EXPORT_FORMATS, exportRecords } from './export-records.ts';
import { rangeOf, rangeQuery } from './usage-range.ts';

const SumsQuery = z.strictObject({
  ...rangeQuery,
  /** Names of groups, separated by commas. */
  groupBy: z.string().max(200).default(''),
  /** Times are not rounded to the hour. */
  exact: z.literal('true').optional(),
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
  readonly keysOf: KeysOfOwner;
  readonly keys: Pick<KeyStore, 'getKey'>;
}

/** What was used: sums by group, and every single record. */
export function usageRoutes({ usage, now, keysOf, keys }: UsageRoutesOptions): AdminRoute[] {
  return [
    adminRoute({
      method: 'GET',
      path: '/admin/v1/usage',
      summary: `Usage totals, grouped by any of ${GROUP_BY.join(', ')}; whole hours (UTC), and days of timeZone`,
      body: NO_BODY,
      query: SumsQuery,
      reply: UsagePage,
      handle: async ({ query: { from, to, timeZone, groupBy, exact, ...filters }, principal: { scope } }) => {
        const query = {
          ...rangeOf({ from, to, timeZone }, now()),
          groupBy: groupsOf(groupBy),
          timeZone,
          isExact: exact !== undefined,
          ...(await groupFilterOf(filters, scope, keysOf)),
        };
        checkLength(query);
        const rows = await awaitRedis(usage.sums(query));
        const isByRecord = isOfRecords(query);
        return { data: rows.map((row) => shownRow(row, isByRecord)), next: null };
      },
    }),
    streamRoute({
      method: 'GET',
      path: '/admin/v1/usage/records',
      summary: 'Every usage record of a period, in the order in which the requests ended, as CSV or NDJSON',
      body: NO_BODY,
      query: RecordsQuery,
      reply: Object.values(EXPORT_FORMATS).map(({ contentType }) => contentType),
      handle: async ({ query: { from, to, timeZone, format, ...filters }, principal: { scope } }) => {
        const wanted = await requestFilterOf(filters, scope, keysOf);
        return {
          contentType: EXPORT_FORMATS[format].contentType,
          stream: exportRecords(usage.all(rangeOf({ from, to, timeZone }, now())), {
            isWanted: (record) => isWantedRequest(record, wanted),
            format,
            nameOf: async (keyId) => {
              const key = await keys.getKey(keyId);
              return key !== undefined && seesKey(scope)(key) ? key.name : null;
            },
          }),
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

const HOUR_MS = 3_600_000;
/** What is read from single records is of so many hours at most, unless callers' names narrow it. */
const MAX_HOURS = { minute: 24, exact: 7 * 24 } as const;

/** @throws {GatewayError} for a range that would be read from too many records */
function checkLength({ groupBy, names, isExact = false, fromMs, toMs }: UsageQuery): void {
  if (Object.values(names ?? {}).some((name) => name !== undefined)) return;
  const check = (what: string, hours: number): void => {
    if (toMs - fromMs > hours * HOUR_MS)
      throw new GatewayError('invalid_value', {
        message: `Usage ${what} covers at most ${hours} hours. Choose a shorter range, or hours and days.`,
        path: ['from'],
      });
  };
  if (groupBy.includes('minute')) check("by 'minute'", MAX_HOURS.minute);
  if (groupBy.includes('fiveMinutes')) check("by 'fiveMinutes'", MAX_HOURS.exact);
  if (isExact) check("with 'exact'", MAX_HOURS.exact);
}

const shownRow = (
  { group, sums: { audioMs, refused, ...sums }, latencies }: UsageRow,
  isByRecord: boolean,
) => {
  const { hour, minute, fiveMinutes } = group;
  return {
    ...group,
    ...(hour !== undefined && { hour: `${hour}:00:00Z` }),
    ...(minute !== undefined && { minute: `${minute}:00Z` }),
    ...(fiveMinutes !== undefined && { fiveMinutes: `${fiveMinutes}:00Z` }),
    ...sums,
    refused: isByRecord ? null : refused,
    audioSeconds: audioMs / 1000,
    firstOutputMs: percentiles(latencies.firstOutputMs),
    totalMs: percentiles(latencies.totalMs),
  };
};

const percentiles = (times: Histogram) => ({ p50: times.quantile(0.5), p95: times.quantile(0.95) });
