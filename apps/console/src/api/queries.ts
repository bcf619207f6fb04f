import { MutationCache, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query';
import { ApiError, api, bodyOf } from './client.ts';

/** For how long what is shown counts as fresh, in milliseconds. */
const FRESH_MS = 10_000;
const MAX_RETRIES = 2;

/** The cache of all that pages have asked for. A session that ended while it was used is noted in `sessionEndedQuery`. */
export function createQueries(): QueryClient {
  const onError = (error: unknown): void => {
    if (!(error instanceof ApiError) || error.status !== 401) return;
    if (queries.getQueryData(sessionQuery.queryKey) !== undefined)
      queries.setQueryData(sessionEndedQuery.queryKey, true);
  };
  const queries = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: { staleTime: FRESH_MS, retry: (failures, error) => failures < MAX_RETRIES && mayPass(error) },
    },
  });
  return queries;
}

/** What another attempt may get. */
export const mayPass = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.status === 0 || error.status >= 500;

/** Who is signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => bodyOf(api.GET('/admin/v1/session')),
  staleTime: 5 * 60_000,
});

/** Whether the session that the pages were opened with has ended. It is known by the calls that are refused, and not asked for. */
export const sessionEndedQuery = queryOptions({
  queryKey: ['session-ended'],
  queryFn: () => false,
  initialData: false,
  staleTime: 'static',
  gcTime: Number.POSITIVE_INFINITY,
});

/** How people can sign in. */
export const signInQuery = queryOptions({
  queryKey: ['sign-in'],
  queryFn: () => bodyOf(api.GET('/admin/v1/sign-in')),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Where callers reach the gateway. */
export const gatewayQuery = queryOptions({
  queryKey: ['gateway'],
  queryFn: () => bodyOf(api.GET('/admin/v1/gateway')),
  staleTime: Number.POSITIVE_INFINITY,
});
