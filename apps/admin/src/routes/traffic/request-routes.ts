import { GatewayError } from '@gateway/contracts/gateway-error';
import type { UsageRecord } from '@gateway/contracts/usage/usage-record';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { Group } from '@gateway/metering/usage/sums';
import { RECORD_CURSOR, type UsageStore } from '@gateway/records/usage/usage-store';
import { timeOfRequestId } from '@gateway/service-kit/request/request-id';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY, streamRoute } from '../../api/admin-route.ts';
import { pageQuery } from '../../api/schemas/page.ts';
import { hasValues, usageFilters } from '../../api/schemas/traffic.ts';
import type { RequestTail } from '../../requests/request-tail.ts';
import { RequestPage, RequestReply, shownRequest } from '../../requests/shown-request.ts';
import { type Scope, seesUsage } from '../../sessions/scope.ts';
import { rangeOf, rangeQuery } from './usage-range.ts';

interface RequestRoutesOptions {
  readonly usage: Pick<UsageStore, 'newest' | 'find'>;
  readonly now: () => number;
  readonly tail: RequestTail;
}

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
export function requestRoutes({ usage, now, tail }: RequestRoutesOptions): AdminRoute[] {
  const find = (id: string, scope: Scope): Promise<UsageRecord | null> =>
    // Of several with an id that a caller chose, the newest.
    usage.find(id, { of: timeOfRequestId(id) === null ? 'last' : 'first', isSeen: seesUsage(scope) });

  return [
    adminRoute({
      method: 'GET',
      path: '/admin/v1/requests',
      summary:
        'Finished requests, newest first; default: those of the last 30 days. A filtered page may be short and still have a next',
      query: pageQuery(RECORD_CURSOR).extend({ ...rangeQuery, ...filters }),
      body: NO_BODY,
      reply: RequestPage,
      handle: async ({ query: { limit, cursor, from, to, timeZone, id, ...only }, principal: { scope } }) => {
        const { records, next } = await awaitRedis(
          usage.newest({
            ...rangeOf({ from, to, timeZone }, now() + 1),
            ...{ after: cursor, limit, idPart: id, only },
            ...(scope.kind !== 'all' && { whose: seesUsage(scope) }),
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
        if (record !== null) return shownRequest(record);
        throw new GatewayError(
          'object_not_found',
          `There is no record of the request '${id}'. It may still be running, may have been refused before it was recorded, or may be too old.`,
        );
      },
    }),
  ];
}
