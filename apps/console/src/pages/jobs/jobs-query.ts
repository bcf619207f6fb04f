import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import { PAGED_LIST } from '../../api/paged-list.ts';
import type { Job, JobDetail } from '../../api/types.ts';

export const LISTED = ['failed', 'in_progress', 'queued', 'completed'] as const;
export type ListedStatus = (typeof LISTED)[number];

const REFRESH_MS = 5_000;
const JOBS_AT_ONCE = 100;

/** How much waits and runs in each queue now. */
export const queuesQuery = queryOptions({
  queryKey: ['queues'],
  queryFn: async () => (await bodyOf(api.GET('/admin/v1/queues'))).data,
  refetchInterval: REFRESH_MS,
});

/** A list that somebody scrolled through is not refreshed: all of its pages would be asked for again. */
const refreshOf = ({ data }: { readonly data: { readonly pages: readonly unknown[] } | undefined }) =>
  (data?.pages.length ?? 0) > 1 ? false : REFRESH_MS;

/** The jobs of a status, queue by queue, the newest first, a page at a time. */
export const jobsQuery = (status: ListedStatus) =>
  infiniteQueryOptions({
    queryKey: ['jobs', status],
    queryFn: ({ pageParam }) =>
      bodyOf(
        api.GET('/admin/v1/jobs', {
          params: { query: { status, limit: JOBS_AT_ONCE, ...(pageParam !== '' && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    refetchInterval: ({ state }) => refreshOf(state),
  });

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: ['job', id],
    queryFn: () => bodyOf(api.GET('/admin/v1/jobs/{id}', { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data === undefined || hasEnded(state.data) ? false : REFRESH_MS),
  });

/** The lines of a batch that have a status, in their order, a page at a time. */
export const linesQuery = (batch: JobDetail, status: Job['status']) =>
  infiniteQueryOptions({
    queryKey: ['job-lines', batch.id, status],
    queryFn: ({ pageParam }) =>
      bodyOf(
        api.GET('/admin/v1/jobs/{id}/lines', {
          params: {
            path: { id: batch.id },
            query: { status, limit: JOBS_AT_ONCE, ...(pageParam !== '' && { cursor: pageParam }) },
          },
        }),
      ),
    ...PAGED_LIST,
    refetchInterval: ({ state }) => (hasEnded(batch) ? false : refreshOf(state)),
  });

export const hasEnded = ({ status }: Pick<JobDetail | Job, 'status'>): boolean =>
  status !== 'queued' && status !== 'in_progress';

/** After a job was cancelled or queued again. */
export async function jobChanged(queries: QueryClient, id: string): Promise<void> {
  const changed = [['job', id], ['jobs'], ['job-lines'], ['queues']];
  await Promise.all(changed.map((queryKey) => queries.invalidateQueries({ queryKey })));
}
