import { MutationCache, QueryCache, QueryClient, queryOptions } from '@tanstack/react-query';
import { ApiError, api, bodyOf } from './client.ts';

/** For how long what is shown counts as fresh, in milliseconds. */
const FRESH_MS = 10_000;
const MAX_RETRIES = 2;

/** The cache of all that pages have asked for. */
export function createQueries({ onSignedOut }: { onSignedOut: () => void }): QueryClient {
  const onError = (error: unknown): void => {
    if (error instanceof ApiError && error.status === 401) onSignedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: { staleTime: FRESH_MS, retry: (failures, error) => failures < MAX_RETRIES && mayPass(error) },
    },
  });
}

/** What another attempt may get. */
const mayPass = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.status === 0 || error.status >= 500;

/** Who is signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => bodyOf(api.GET('/admin/v1/session')),
  staleTime: 5 * 60_000,
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
