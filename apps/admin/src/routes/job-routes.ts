import {
  JOB_CURSOR,
  type JobList,
  type ListedJob,
  ListedStatus,
  type ReserveAgain,
} from '@gateway/jobs/job-list';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../admin-route.ts';
import { JobPage, JobReply, pageQuery, QueuePage } from './schemas.ts';

interface JobRoutesOptions {
  readonly jobs: JobList;
  readonly reserveAgain: ReserveAgain;
}

/** Queues and their jobs; a failed job that was certainly not done can be queued again. */
export const jobRoutes = ({ jobs, reserveAgain }: JobRoutesOptions): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/queues',
    summary: 'How many jobs of each queue are where',
    query: NO_QUERY,
    body: NO_BODY,
    reply: QueuePage,
    handle: async () => ({
      data: (await jobs.counts()).map(({ oldestQueuedAtMs, ...counts }) => ({
        ...counts,
        oldestQueuedAt: instantOf(oldestQueuedAtMs),
      })),
      next: null,
    }),
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/jobs',
    summary: 'List jobs of a status, queue by queue, the newest first; default: those that failed',
    query: pageQuery(JOB_CURSOR).extend({ status: ListedStatus.default('failed') }),
    body: NO_BODY,
    reply: JobPage,
    handle: async ({ query: { status, limit, cursor } }) => {
      const page = await jobs.list({ status, limit, after: cursor });
      return { data: page.jobs.map(shown), next: page.next };
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/jobs/{id}/requeue',
    summary: 'Queue a failed job again that was certainly not done',
    query: NO_QUERY,
    body: NO_BODY,
    reply: JobReply,
    handle: async ({ parameter: id }) => shown(await jobs.requeue(id, reserveAgain)),
  }),
];

const shown = ({ createdAtMs, startedAtMs, finishedAtMs, ...job }: ListedJob) => ({
  ...job,
  createdAt: instantOf(createdAtMs),
  startedAt: instantOf(startedAtMs),
  finishedAt: instantOf(finishedAtMs),
});

const instantOf = (atMs: number | null): string | null =>
  atMs === null ? null : new Date(atMs).toISOString();
