import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import { PAGED_LIST } from '../../api/paged-list.ts';
import type { Configuration } from '../../api/types.ts';

const REFRESH_MS = 10_000;

/** The configuration as it is now, and whether it took effect. */
export const configurationQuery = queryOptions({
  queryKey: ['configuration'],
  queryFn: () => bodyOf(api.GET('/admin/v1/configuration')),
  refetchInterval: REFRESH_MS,
});

/** Whether nothing answers callers yet but the simulator. */
export const isUnconfigured = ({ source, isValid, channels }: Configuration): boolean =>
  source === 'simulator' || (isValid && channels === 0);

/** The way from nothing to a first answer, as a view of the page. */
export const ADD_PROVIDER = { to: '/configuration', search: { view: 'edit', add: true } } as const;

/** Who changed it when, and why. */
export const revisionsQuery = infiniteQueryOptions({
  queryKey: ['configuration-revisions'],
  queryFn: ({ pageParam }) =>
    bodyOf(
      api.GET('/admin/v1/configuration/revisions', {
        params: { query: pageParam === '' ? {} : { cursor: Number(pageParam) } },
      }),
    ),
  ...PAGED_LIST,
});

export const revisionQuery = (number: number) =>
  queryOptions({
    queryKey: ['configuration-revision', number],
    queryFn: () =>
      bodyOf(
        api.GET('/admin/v1/configuration/revisions/{number}', { params: { path: { number: `${number}` } } }),
      ),
  });

/** After a change: everything that shows the configuration asks again. */
export const configurationChanged = (queries: QueryClient): Promise<unknown> =>
  Promise.all(
    [['configuration'], ['configuration-revisions'], ['configuration-draft'], ['channels'], ['models']].map(
      (queryKey) => queries.invalidateQueries({ queryKey }),
    ),
  );
