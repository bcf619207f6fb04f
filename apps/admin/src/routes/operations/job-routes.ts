import { GatewayError } from '@gateway/contracts/gateway-error';
import { JobStatus } from '@gateway/contracts/jobs';
import type { ShownWebhook } from '@gateway/contracts/webhooks';
import {
  JOB_CURSOR,
  type JobList,
  type ListedJob,
  ListedStatus,
  type ReserveAgain,
} from '@gateway/jobs/records/job-list';
import type { OperatedJob, OperatedJobs } from '@gateway/jobs/records/operated-jobs';
import type { WebhookLog } from '@gateway/jobs/webhooks/webhook-log';
import { awaitRedis } from '@gateway/metering/keys/await-redis';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import type { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { JobDetailReply, JobPage, JobReply, LinePage, QueuePage } from '../../api/schemas/operations.ts';
import { pageQuery } from '../../api/schemas/page.ts';
import { findJobs, jobsSeenBy } from '../../operations/find-jobs.ts';
import { isOverseer, type Role } from '../../sessions/roles.ts';

interface JobRoutesOptions {
  readonly jobs: JobList;
  readonly keys: Pick<KeyStore, 'getKey'>;
  readonly operated: OperatedJobs;
  readonly webhooks: Pick<WebhookLog, 'get'>;
  /** A URL under which anybody may fetch an image for a while. */
  readonly assetUrl: (id: string) => string;
  readonly reserveAgain: ReserveAgain;
}

/** Queues and their jobs; a failed job that was certainly not done can be queued again. */
export const jobRoutes = ({
  jobs,
  keys,
  operated,
  webhooks,
  assetUrl,
  reserveAgain,
}: JobRoutesOptions): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/queues',
    summary: 'How many jobs are in each queue, by state',
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
    summary: 'List jobs of a status, queue by queue, newest first; default: failed',
    query: pageQuery(JOB_CURSOR).extend({ status: ListedStatus.default('failed') }),
    body: NO_BODY,
    reply: JobPage,
    handle: async ({ query: { status, limit, cursor }, principal: { scope, role } }) => {
      const page = await findJobs({ jobs, keys }, scope, { status, limit, after: cursor });
      return { data: page.jobs.map((job) => shown(job, role)), next: page.next };
    },
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/jobs/{id}',
    summary: 'One job with its history, its webhook and what is stored of its result',
    query: NO_QUERY,
    body: NO_BODY,
    reply: JobDetailReply,
    handle: async ({ parameter: id, principal }) => {
      const job = await awaitRedis(operated.get(id));
      if (job === undefined || !(await jobsSeenBy(principal.scope, keys)(job))) throw noJob(id);
      const webhook = (await webhooks.get(job.webhookId)) ?? null;
      return shownDetail(job, webhook, principal.role, assetUrl);
    },
  }),
  adminRoute({
    method: 'GET',
    path: '/admin/v1/jobs/{id}/lines',
    summary: 'The lines of a batch in their order, with what became of each',
    query: pageQuery(LINES_CURSOR).extend({ status: JobStatus.optional() }),
    body: NO_BODY,
    reply: LinePage,
    handle: async ({ parameter: id, query: { status, limit, cursor }, principal: { scope, role } }) => {
      const job = await awaitRedis(operated.get(id));
      if (job === undefined || !(await jobsSeenBy(scope, keys)(job))) throw noJob(id);
      const page = await awaitRedis(operated.lines(job, { status, limit, after: Number(cursor ?? 0) }));
      return {
        data: page.lines.map(({ errorMessage, ...line }) => ({
          ...line,
          errorMessage: isOverseer(role) ? errorMessage : null,
        })),
        next: page.next === null ? null : String(page.next),
      };
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/jobs/{id}/cancel',
    summary: 'Cancel a job: a running one is stopped, a waiting one is not started',
    query: NO_QUERY,
    body: NO_BODY,
    reply: JobDetailReply,
    handle: async ({ parameter: id, principal }) => {
      await awaitRedis(operated.cancel(id));
      const job = await awaitRedis(operated.get(id));
      if (job === undefined) throw new GatewayError('object_not_found', `There is no job '${id}'.`);
      return shownDetail(job, null, principal.role, assetUrl);
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/jobs/{id}/requeue',
    summary: 'Requeue a failed job whose work was certainly not done',
    query: NO_QUERY,
    body: NO_BODY,
    reply: JobReply,
    handle: async ({ parameter: id, principal }) =>
      shown(await jobs.requeue(id, reserveAgain), principal.role),
  }),
];

/** How many lines came before. */
const LINES_CURSOR = /^\d{1,6}$/;

const noJob = (id: string): GatewayError =>
  new GatewayError('object_not_found', `There is no job '${id}', or its record has expired.`);

const shown = (
  { createdAtMs, startedAtMs, finishedAtMs, errorMessage, ...job }: ListedJob,
  role: Role,
): z.infer<typeof JobReply> => ({
  ...job,
  errorMessage: isOverseer(role) ? errorMessage : null,
  createdAt: new Date(createdAtMs).toISOString(),
  startedAt: instantOf(startedAtMs),
  finishedAt: instantOf(finishedAtMs),
});

const instantOf = (atMs: number | null): string | null =>
  atMs === null ? null : new Date(atMs).toISOString();

/** What happened to a job, in the order in which it did. */
function historyOf(
  { createdAtMs, startedAtMs, finishedAtMs, status, run }: OperatedJob,
  webhook: ShownWebhook | null,
): z.infer<typeof JobDetailReply>['history'] {
  const began = run !== null && run.attempts > 1 ? `attempt ${run.attempts}` : null;
  return [
    { at: new Date(createdAtMs).toISOString(), event: 'queued' as const, detail: null },
    ...(startedAtMs === null
      ? []
      : [{ at: new Date(startedAtMs).toISOString(), event: 'started' as const, detail: began }]),
    ...(finishedAtMs === null
      ? []
      : [{ at: new Date(finishedAtMs).toISOString(), event: 'ended' as const, detail: status }]),
    ...(webhook?.attempts ?? []).map(({ at, status: code, error }) => ({
      at,
      event: 'webhook' as const,
      detail: error ?? (code === null ? null : String(code)),
    })),
  ].toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

const shownRun = ({ retryAtMs, ...run }: NonNullable<OperatedJob['run']>) => ({
  ...run,
  retryAt: instantOf(retryAtMs),
});

const IMAGE = /^image\//;

function shownDetail(
  job: OperatedJob,
  webhook: ShownWebhook | null,
  role: Role,
  assetUrl: (id: string) => string,
): z.infer<typeof JobDetailReply> {
  const { createdAtMs, startedAtMs, finishedAtMs, expiresAtMs, assets, webhookId: _, run, ...rest } = job;
  return {
    ...rest,
    errorMessage: isOverseer(role) ? rest.errorMessage : null,
    createdAt: new Date(createdAtMs).toISOString(),
    startedAt: instantOf(startedAtMs),
    finishedAt: instantOf(finishedAtMs),
    expiresAt: instantOf(expiresAtMs),
    run: run === null ? null : shownRun(run),
    history: historyOf(job, webhook),
    webhook,
    assets: assets.map(({ id, contentType }) => ({
      id,
      contentType,
      url: role === 'admin' && IMAGE.test(contentType) ? assetUrl(id) : null,
    })),
  };
}
