import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '@gateway/contracts/gateway-error';
import {
  type BatchKind,
  isBatch,
  type JobArea,
  type JobKind,
  JobListQuery,
  type PublicJobList,
} from '@gateway/contracts/jobs';
import type { JobOutput } from '@gateway/jobs/catalog';
import type { JobQueue } from '@gateway/jobs/queue/job-queue';
import type { FoundJob } from '@gateway/jobs/records/find-job';
import { hasEnded } from '@gateway/jobs/records/job-record';
import type { Delivery } from '@gateway/jobs/results/kept-results';
import { type Handler, type PathParams, parsedQuery, sendJson } from '@gateway/service-kit/request/handler';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { validate } from '@gateway/service-kit/request/validate';
import { type ExpandEvent, jobEventsHandler } from './job-events.ts';
import { publicJob } from './public-job.ts';

/** Writes the result of a finished job of each kind, as waiting for it would have given it. */
export type ResultWriters<Kinds extends JobKind> = {
  readonly [Kind in Kinds]: (
    output: JobOutput<Kind>,
    request: IncomingMessage,
    response: ServerResponse,
  ) => Promise<Delivery>;
};

/** What there is of a batch that has ended, whole or not. */
export interface BatchResults {
  /** Writes what became of its lines; undefined where none was begun, or that has gone. */
  open(
    record: FoundJob,
  ): Promise<((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined>;
  remove(record: FoundJob): Promise<void>;
}

interface JobHandlerOptions<Kinds extends JobKind> {
  readonly area: JobArea;
  readonly queue: JobQueue<Kinds>;
  readonly writers: ResultWriters<Exclude<Kinds, BatchKind>>;
  readonly batches: BatchResults;
  /** Replaces an event that a job has emitted, if that only refers to its content. */
  readonly expandEvent?: ExpandEvent;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** How soon to look again for a result that is not there yet. */
const RETRY_AFTER_SECONDS = 2;
const DEFAULT_PAGE = 20;
/** Jobs that one request for a list looks through for those of a status. */
const MAX_LOOKED_THROUGH = 2000;
const LOOK_THROUGH_AT_ONCE = 100;

/** What callers can do with the jobs of one area. A key finds its own; any other id answers 404. */
export function jobHandlers<Kinds extends JobKind>(
  options: JobHandlerOptions<Kinds>,
): Readonly<Record<string, Handler>> {
  const { area, queue, writers, batches, now } = options;
  const jobs = `/v1/${area}/jobs`;
  const find = async (request: IncomingMessage, params: PathParams): Promise<FoundJob> => {
    const { line } = contextOf(request);
    const record = await queue.find(String(params.id), identityOf(request).keyId);
    if (record === undefined) throw notFound();
    Object.assign(line, { jobId: record.id, model: record.model });
    return record;
  };
  return {
    [`GET ${jobs}`]: async (request, response) => {
      const query = validate(JobListQuery, parsedQuery(request));
      send(response, request, await listOf(options, query, identityOf(request).keyId));
    },
    [`GET ${jobs}/{id}`]: async (request, response, params) =>
      send(response, request, await publicJob(queue, await find(request, params))),
    [`DELETE ${jobs}/{id}`]: async (request, response, params) => {
      const record = await find(request, params);
      if (hasEnded(record)) await queue.removeResult(record);
      if (hasEnded(record) && isBatch(record.kind)) await batches.remove(record);
      if (!hasEnded(record)) await queue.cancel(record);
      send(response, request, await publicJob(queue, await find(request, params)));
    },
    [`GET ${jobs}/{id}/result`]: async (request, response, params) => {
      const record = await find(request, params);
      const write = await resultOf({ queue, writers, batches, now }, record);
      await write(request, response);
    },
    [`GET ${jobs}/{id}/events`]: jobEventsHandler({ ...options, find }),
  };
}

/** @throws {GatewayError} the job's own failure; `job_not_finished`, `job_cancelled`, `result_expired` */
async function resultOf<Kinds extends JobKind>(
  { queue, writers, batches, now }: Pick<JobHandlerOptions<Kinds>, 'queue' | 'writers' | 'batches' | 'now'>,
  record: FoundJob,
): Promise<(request: IncomingMessage, response: ServerResponse) => Promise<void>> {
  const { status, error, expiresAtMs } = record;
  const isThere = hasEnded(record) && (expiresAtMs === null || expiresAtMs > now());
  const lines = isThere && isBatch(record.kind) ? await batches.open(record) : undefined;
  if (lines !== undefined) return lines;
  if (error !== null) throw GatewayError.deserialize(error);
  if (status === 'cancelled')
    throw new GatewayError('job_cancelled', 'The job was cancelled, so it has no result.');
  if (!hasEnded(record)) throw await notFinished(queue, record);
  if (expiresAtMs === null || expiresAtMs <= now()) throw expired();
  const kind = queue.kinds.filter(isSingle).find((known) => known === record.kind);
  if (kind === undefined) throw expired();
  return async (request, response) => {
    const output = await queue.outputOf(kind, record.id).catch((cause: unknown) => {
      throw expired(cause);
    });
    contextOf(request).mayBePaid = true;
    response.setHeader('x-gateway-job', record.id);
    queue.delivered(record.id, await writers[kind](output, request, response));
  };
}

const isSingle = <Kind extends JobKind>(kind: Kind): kind is Exclude<Kind, BatchKind> => !isBatch(kind);

async function listOf<Kinds extends JobKind>(
  { area, queue }: JobHandlerOptions<Kinds>,
  { status, after, limit = DEFAULT_PAGE, idempotency_key: idempotencyKey }: JobListQuery,
  keyId: string,
): Promise<PublicJobList> {
  if (idempotencyKey !== undefined) {
    const jobId = await queue.claims.jobOf(keyId, idempotencyKey);
    const record = jobId === undefined ? undefined : await queue.find(jobId, keyId);
    const fits = record !== undefined && (status ?? record.status) === record.status;
    return pageOf(queue, fits ? [record] : [], { lastId: record?.id ?? null, hasMore: false });
  }
  const found: FoundJob[] = [];
  let last = after;
  for (let seen = 0; seen < MAX_LOOKED_THROUGH; seen += LOOK_THROUGH_AT_ONCE) {
    const page = await queue.list({ area, keyId, after: last, count: LOOK_THROUGH_AT_ONCE });
    if (page === undefined) throw unknownCursor();
    for (const record of page.records) {
      if (status !== undefined && record.status !== status) continue;
      if (found.length === limit)
        return pageOf(queue, found, { lastId: found.at(-1)?.id ?? null, hasMore: true });
      found.push(record);
    }
    last = page.lastId ?? last;
    if (page.size < LOOK_THROUGH_AT_ONCE)
      return pageOf(queue, found, { lastId: found.at(-1)?.id ?? null, hasMore: false });
  }
  return pageOf(queue, found, { lastId: last ?? null, hasMore: true });
}

async function pageOf<Kinds extends JobKind>(
  queue: JobQueue<Kinds>,
  records: readonly FoundJob[],
  { lastId, hasMore }: { lastId: string | null; hasMore: boolean },
): Promise<PublicJobList> {
  return {
    object: 'list',
    data: await Promise.all(records.map((record) => publicJob(queue, record))),
    first_id: records[0]?.id ?? null,
    last_id: lastId,
    has_more: hasMore,
  };
}

function send(response: ServerResponse, request: IncomingMessage, body: unknown): void {
  const { requestId } = contextOf(request);
  const headers = { 'cache-control': 'no-store', 'x-request-id': requestId, 'request-id': requestId };
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  sendJson(response, body);
}

const notFound = (): GatewayError =>
  new GatewayError('object_not_found', 'There is no such job. Jobs are forgotten two days after they end.');

async function notFinished(
  queue: Pick<JobQueue<JobKind>, 'positionOf'>,
  { id, keyId, status }: FoundJob,
): Promise<GatewayError> {
  const waiting = status === 'queued' ? await queue.positionOf(id, keyId) : undefined;
  return new GatewayError('job_not_finished', {
    message: `The job is ${status === 'queued' ? 'queued' : 'in progress'}. Try again later, or follow its events.`,
    retryAfterSeconds: Math.max(RETRY_AFTER_SECONDS, waiting?.waitSeconds ?? 0),
  });
}

const expired = (cause?: unknown): GatewayError =>
  new GatewayError('result_expired', {
    message: 'The result of this job has expired or was removed.',
    cause,
  });

const unknownCursor = (): GatewayError =>
  new GatewayError('invalid_value', {
    path: ['after'],
    message: "You no longer have a job with this id. Start again without 'after'.",
  });
