import { type BatchKind, isBatch, JobKind, type JobStatus, jobAreaOf } from '@gateway/contracts/jobs';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { JOBS } from '../catalog.ts';
import { storedFailure } from '../files/job-files.ts';
import { cancelledKey, endedKey, lineJobId } from '../redis/job-keys.ts';
import { hasEnded } from './job-record.ts';
import { readLineStates } from './line-states.ts';
import { Remembered, recordIn } from './remembered.ts';

/** A line of a batch, as an operator sees it. */
export interface BatchLine {
  /** From 1. */
  readonly line: number;
  /** Its own, and that of its job where it has one; nobody knows it before the line is taken. */
  readonly id: string;
  readonly status: JobStatus;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

export interface LinesQuery {
  /** Default: lines of any status. */
  readonly status?: JobStatus | undefined;
  readonly limit: number;
  /** How many of the batch's lines came before. */
  readonly after: number;
}

/** Lines in their order. A page may have fewer than were asked for, and a `next` all the same. */
export interface LinesPage {
  readonly lines: readonly BatchLine[];
  /** `after` of the next page; null on the last. */
  readonly next: number | null;
}

interface Batch {
  readonly id: string;
  readonly kind: BatchKind;
  /** How many it has. */
  readonly total: number;
  readonly status: JobStatus;
  readonly errorCode: string | null;
}

const AT_ONCE = 200;
/** Of one page: a batch has ten thousand lines. */
const MAX_SCANNED = 2000;

/** Reads a page of a batch's lines. Their ids follow from the batch's. */
export async function readLines(
  { redis, queues }: LineSources,
  batch: Batch,
  { status, limit, after }: LinesQuery,
): Promise<LinesPage> {
  const names = new Set(
    JobKind.options
      .filter((kind) => !isBatch(kind) && jobAreaOf(kind) === jobAreaOf(batch.kind))
      .map((kind) => JOBS[kind].queue),
  );
  const sources = { redis, queues: queues.filter(({ name }) => names.has(name)) };
  const lines: BatchLine[] = [];
  let at = after;
  const end = Math.min(batch.total, after + MAX_SCANNED);
  while (at < end) {
    const ids = Array.from({ length: Math.min(AT_ONCE, end - at) }, (_, index) =>
      lineJobId(batch.id, at + index),
    );
    const read = batch.kind === 'text.batch' ? ownLines : linesOf;
    for (const line of await read(sources, { batch, ids, firstLine: at + 1 })) {
      if (status === undefined || line.status === status) lines.push(line);
      at += 1;
      if (lines.length === limit) return { lines, next: at < batch.total ? at : null };
    }
  }
  return { lines, next: at < batch.total ? at : null };
}

/** What became of a line that has no job. Of a batch that has ended, its results say the same. */
function notBegun(batch: Batch): Pick<BatchLine, 'status' | 'errorCode' | 'errorMessage'> {
  // It waits like those that have one.
  if (!hasEnded(batch)) return { status: 'queued', errorCode: null, errorMessage: null };
  const errorMessage = 'The batch ended before the line started.';
  return batch.status === 'cancelled'
    ? { status: 'cancelled', errorCode: 'job_cancelled', errorMessage }
    : { status: 'failed', errorCode: batch.errorCode ?? 'batch_expired', errorMessage };
}

interface LineSources {
  readonly redis: Redis;
  readonly queues: readonly Queue[];
}

interface SomeLines {
  readonly batch: Batch;
  readonly ids: readonly string[];
  readonly firstLine: number;
}

/** Lines that their batch does itself. */
async function ownLines({ redis }: LineSources, { batch, ids, firstLine }: SomeLines): Promise<BatchLine[]> {
  const states = await readLineStates(redis, batch.id, { from: firstLine - 1, count: ids.length });
  return ids.map((id, at) => ({ line: firstLine + at, id, ...(states[at] ?? notBegun(batch)) }));
}

/** Lines that have jobs. */
async function linesOf(
  { redis, queues }: LineSources,
  { batch, ids, firstLine }: SomeLines,
): Promise<BatchLine[]> {
  const [ended, cancelled] = await Promise.all([
    redis.mget(ids.map(endedKey)),
    redis.mget(ids.map(cancelledKey)),
  ]);
  const texts = ids.map((_, index) => ended[index] ?? cancelled[index] ?? null);
  const open = ids.filter((_, index) => texts[index] === null);
  const places = open.flatMap((id) => queues.map((queue) => ({ id, queue })));
  const pipeline = redis.pipeline();
  for (const { id, queue } of places) pipeline.exists(queue.toKey(id));
  const exists = places.length === 0 ? [] : ((await pipeline.exec()) ?? []);
  const inQueue = new Map(
    places.filter((_, index) => exists[index]?.[1] === 1).map(({ id, queue }) => [id, queue]),
  );
  return Promise.all(
    ids.map(async (id, index) => {
      const text = texts[index] ?? null;
      const job = text === null ? await inQueue.get(id)?.getJob(id) : undefined;
      const known = text === null ? job && (await recordIn(job)) : Remembered.parse(JSON.parse(text));
      const failure = known?.reason ? storedFailure(known.reason) : null;
      const outcome = known && {
        status: known.status,
        errorCode: failure?.code ?? null,
        errorMessage: failure?.message ?? null,
      };
      return { line: firstLine + index, id, ...(outcome ?? notBegun(batch)) };
    }),
  );
}
