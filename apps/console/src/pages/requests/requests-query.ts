import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import { PAGED_LIST } from '../../api/paged-list.ts';
import { timeZone } from '../../parts/time-zone.ts';
import type { RequestFilter } from '../traffic/request-filter.ts';
import { isCustom, type Range, spanOf } from '../traffic/time-range.ts';
import { filterOf, instant } from '../traffic/usage-query.ts';

export interface ListFilter extends RequestFilter, Range {
  /** A part of a request id or of a record's id. */
  readonly id?: string | undefined;
}

const REQUESTS_AT_ONCE = 100;

/** Shorter parts of ids are not searched for. */
const MIN_ID_LENGTH = 4;
const ID = /^[A-Za-z0-9._:-]+$/;

const OF_REQUESTS = ['minTotalMs', 'minFirstOutputMs', 'attemptChannel', 'attemptOutcome'] as const;

/** The filter as the admin API takes it, without its range; an id that it would refuse is left out. */
export const requestFilterOf = ({ id, ...only }: ListFilter): Record<string, string> => ({
  ...filterOf(only),
  ...Object.fromEntries(
    OF_REQUESTS.flatMap((name) => (only[name] === undefined ? [] : [[name, String(only[name])]])),
  ),
  ...(id !== undefined && id.length >= MIN_ID_LENGTH && ID.test(id) && { id }),
});

/** The requests that a filter selects, the newest first, a page at a time. */
export function requestsQuery(filter: ListFilter) {
  const { range, from, to } = filter;
  const only = requestFilterOf(filter);
  const zone = timeZone();
  return infiniteQueryOptions({
    queryKey: ['requests', { range, from, to, zone, only }],
    queryFn: ({ pageParam }) => {
      const span = spanOf({ range, from, to }, '30d', Date.now(), zone);
      // Without a range the admin service takes the last 30 days, and has sent them beside the page.
      const hasRange = range !== undefined || isCustom(filter);
      const query = {
        limit: REQUESTS_AT_ONCE,
        ...(hasRange && { from: instant(span.fromMs) }),
        ...(isCustom(filter) && { to: instant(span.toMs) }),
        ...(pageParam !== '' && { cursor: pageParam }),
        ...only,
      };
      return bodyOf(api.GET('/admin/v1/requests', { params: { query } }));
    },
    ...PAGED_LIST,
  });
}

export const requestQuery = (id: string) =>
  queryOptions({
    queryKey: ['request', id],
    queryFn: () => bodyOf(api.GET('/admin/v1/requests/{id}', { params: { path: { id } } })),
    // A record does not change.
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Ids that the gateway makes, wherever they stand in a text. */
const OWN_ID = /\b(?:req|job|resp|batch)_[0-9a-f]{16,64}\b/;
/** Ids that callers may choose. */
const CHOSEN_ID = /^[A-Za-z0-9._:-]{8,128}$/;
const DIGIT = /\d/;

/** The id of a request in a pasted text: the id alone, or a client's error that names it. Undefined without an id. */
export function requestIdIn(text: string): string | undefined {
  const [own] = OWN_ID.exec(text) ?? [];
  if (own !== undefined) return own;
  const trimmed = text.trim();
  return CHOSEN_ID.test(trimmed) && DIGIT.test(trimmed) ? trimmed : undefined;
}
