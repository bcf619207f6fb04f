import { GatewayError } from '@gateway/contracts/gateway-error';
import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import type { ReportBroken } from '@gateway/metering/broken-records';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import { firstRecordWithId, newestRecords, RECORD_CURSOR } from '@gateway/metering/usage/newest-records';
import type { Group } from '@gateway/metering/usage/sums';
import { timeOfRequestId } from '@gateway/service-kit/request/request-id';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY, streamRoute } from '../../api/admin-route.ts';
import { pageQuery } from '../../api/schemas/page.ts';
import { hasValues, usageFilters } from '../../api/schemas/traffic.ts';
import type { RequestTail } from '../../requests/request-tail.ts';
import { RequestPage, RequestReply, shownRequest } from '../../requests/shown-request.ts';
import { type Scope, seesUsage } from '../../sessions/scope.ts';
import { rangeOf, rangeQuery } from './usage-range.ts';

interface RequestRoutesOptions {
  readonly redis: Redis;
  readonly now: () => number;
  readonly onBroken: ReportBroken;
  readonly tail: RequestTail;
}

/** Records that one call reads: some 20 MB on their way from Redis. */
const MAX_READ = 30_000;
/** Records that are searched for one id. */
const MAX_SEARCHED = 200_000;
/** How far the clocks of the edge and of Redis may be apart. */
const CLOCK_TOLERANCE_MS = 60_000;
const DAY_MS = 86_400_000;

const filters = {
  ...usageFilters,
  /** A part of a request id or of a record's id. */
  id: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{4,128}$/, 'at least four letters, digits or one of . _ : - of an id')
    .optional(),
};

type Filters = Partial<Record<Group | 'id', string | undefined>>;

const isWantedBy =
  ({ id, ...only }: Filters, scope: Scope) =>
  (record: UsageRecord): boolean =>
    seesUsage(scope)(record) &&
    hasValues(record, only) &&
    (id === undefined || record.id.includes(id) || (record.requestId?.includes(id) ?? false));

/** The requests that have ended: the newest, one by its id, and all from now on. */
export function requestRoutes({ redis, now, onBroken, tail }: RequestRoutesOptions): AdminRoute[] {
  const find = async (id: string, scope: Scope): Promise<UsageRecord | undefined> => {
    const isSeen = seesUsage(scope);
    const madeMs = timeOfRequestId(id);
    if (madeMs !== null) {
      const fromMs = madeMs - CLOCK_TOLERANCE_MS;
      const range = { fromMs, toMs: now() + CLOCK_TOLERANCE_MS, maxRead: MAX_SEARCHED, onBroken };
      const found = fromMs < 0 || fromMs > now() ? null : await firstRecordWithId(redis, id, range);
      if (found !== null && isSeen(found)) return found;
    }
    // One that its caller chose, or a job's.
    const { records } = await newestRecords(redis, {
      ...{ fromMs: now() - 90 * DAY_MS, toMs: now() + CLOCK_TOLERANCE_MS, after: undefined, limit: 1 },
      ...{ maxRead: MAX_SEARCHED, text: id, onBroken },
      isWanted: (record) => isSeen(record) && (record.id === id || record.requestId === id),
    });
    return records[0];
  };

  return [
    adminRoute({
      method: 'GET',
      path: '/admin/v1/requests',
      summary:
        'Finished requests, newest first; default: those of the last 30 days. A filtered page may be short and still have a next',
      query: pageQuery(RECORD_CURSOR).extend({ ...rangeQuery, ...filters }),
      body: NO_BODY,
      reply: RequestPage,
      handle: async ({ query: { limit, cursor, from, to, ...wanted }, principal }) => {
        const { records, next } = await awaitRedis(
          newestRecords(redis, {
            ...rangeOf({ from, to }, now() + 1),
            ...{ after: cursor, limit, maxRead: MAX_READ, text: wanted.id, onBroken },
            isWanted: isWantedBy(wanted, principal.scope),
          }),
        );
        return { data: records.map(shownRequest), next };
      },
    }),
    streamRoute({
      method: 'GET',
      path: '/admin/v1/requests/tail',
      summary:
        'Requests as they end, as server-sent events: `request` with a request, `skipped` with a count of those that were too many',
      query: z.strictObject(filters),
      body: NO_BODY,
      reply: ['text/event-stream'],
      handle: ({ query, principal }) => ({
        contentType: 'text/event-stream',
        stream: tail.open(isWantedBy(query, principal.scope)),
      }),
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/requests/{id}',
      summary: "One request, by the id that its caller got, or by its record's or job's id",
      query: NO_QUERY,
      body: NO_BODY,
      reply: RequestReply,
      handle: async ({ parameter: id, principal }) => {
        const record = await awaitRedis(find(id, principal.scope));
        if (record !== undefined) return shownRequest(record);
        throw new GatewayError(
          'object_not_found',
          `There is no record of the request '${id}'. It may still be running, may have been refused before it was recorded, or may be too old.`,
        );
      },
    }),
  ];
}
