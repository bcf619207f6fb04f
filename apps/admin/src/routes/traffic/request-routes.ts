import { GatewayError } from '@gateway/contracts/gateway-error';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import { isWantedRequest } from '@gateway/metering/usage/request-filter';
import { RECORD_CURSOR, type UsageStore } from '@gateway/records/usage/usage-store';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY, streamRoute } from '../../api/admin-route.ts';
import { pageQuery } from '../../api/schemas/page.ts';
import { type KeysOfOwner, requestFilterOf, requestFilters } from '../../api/schemas/traffic.ts';
import type { FindRequest } from '../../requests/find-request.ts';
import type { RequestTail } from '../../requests/request-tail.ts';
import { RequestPage, RequestReply, type ShowRequest } from '../../requests/shown-request.ts';
import { rangeOf, rangeQuery } from './usage-range.ts';

interface RequestRoutesOptions {
  readonly usage: Pick<UsageStore, 'newest'>;
  readonly find: FindRequest;
  readonly now: () => number;
  readonly tail: RequestTail;
  readonly show: ShowRequest;
  readonly keysOf: KeysOfOwner;
}

/** The requests that have ended: the newest, one by its id, and all from now on. */
export function requestRoutes({ usage, find, now, tail, show, keysOf }: RequestRoutesOptions): AdminRoute[] {
  return [
    adminRoute({
      method: 'GET',
      path: '/admin/v1/requests',
      summary:
        'Finished requests, newest first; default: those of the last 30 days. A filtered page may be short and still have a next',
      query: pageQuery(RECORD_CURSOR).extend({ ...rangeQuery, ...requestFilters }),
      body: NO_BODY,
      reply: RequestPage,
      handle: async ({ query: { limit, cursor, from, to, timeZone, ...filters }, principal: { scope } }) => {
        const { records, next } = await awaitRedis(
          usage.newest({
            ...rangeOf({ from, to, timeZone }, now() + 1),
            ...{ after: cursor, limit },
            ...(await requestFilterOf(filters, scope, keysOf)),
          }),
        );
        return { data: records.map(show), next };
      },
    }),
    streamRoute({
      method: 'GET',
      path: '/admin/v1/requests/tail',
      summary:
        'Requests as they end, as server-sent events: `request` with a request, `skipped` with a count of those that were too many',
      query: z.strictObject(requestFilters),
      body: NO_BODY,
      reply: ['text/event-stream'],
      handle: async ({ query, principal }) => {
        const wanted = await requestFilterOf(query, principal.scope, keysOf);
        return {
          contentType: 'text/event-stream',
          stream: tail.open((record) => isWantedRequest(record, wanted)),
        };
      },
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
        if (record !== null) return show(record);
        throw new GatewayError(
          'object_not_found',
          `There is no record of the request '${id}'. It may still be running, may have been refused before it was recorded, or may be too old.`,
        );
      },
    }),
  ];
}
