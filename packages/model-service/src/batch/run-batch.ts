import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorCode } from '@gateway/contracts/error-codes';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { BatchInput, BatchKind, BatchOutput } from '@gateway/contracts/jobs';
import { longestLifeMs } from '@gateway/jobs/catalog';
import { type JobRecord, uploadsOf } from '@gateway/jobs/job-envelope';
import { hasEnded } from '@gateway/jobs/records/job-record';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import type { JobContext } from '@gateway/jobs/worker/job-processor';
import { keepNames, storedLines } from './batch-file.ts';
import type { BatchService, LineKind } from './batch-service.ts';
import { checkLine, type LineEndpoint, readLine } from './line-endpoint.ts';

/** Lines of one batch that wait or are at work at a time. */
const AT_ONCE = 16;
/** After every job of an ordinary priority. */
const LOWEST_PRIORITY = 9;
const DEFAULT_WAIT_SECONDS = 2;
const MAX_WAIT_SECONDS = 60;

/** What a batch's run takes of its job. */
export type BatchContext = Pick<JobContext, 'jobId' | 'keyId' | 'requestId' | 'signal'>;

/**
 * Takes a batch's lines one after the other, as limits and queues let them in, until all of them have ended. Which lines have been
 * taken follows from their jobs' ids, so that a run that was interrupted is gone on with by another.
 */
export async function runBatch<Kind extends LineKind, Batch extends BatchKind>(
  service: BatchService<Kind, Batch>,
  { fileId, lines, untilMs, strict }: BatchInput,
  context: BatchContext,
): Promise<BatchOutput> {
  const { uploads, queue, now } = service;
  const { jobId, signal } = context;
  const counts = { total: lines, completed: 0, failed: 0 };
  const count = (record: Pick<JobRecord, 'status'> | undefined) => {
    counts[record?.status === 'completed' ? 'completed' : 'failed'] += 1;
  };
  await keepNames(service, jobId, fileId);
  await patiently(signal, () => queue.keepCounts(jobId, counts));
  const underway = new Set<Promise<void>>();
  const follow = async (kind: Kind, lineId: string) => {
    count(await endOf(service, { kind, lineId, context }));
    await patiently(signal, () => queue.keepCounts(jobId, counts));
  };
  try {
    for await (const { index, bytes } of storedLines(uploads, fileId)) {
      while (underway.size >= AT_ONCE) await Promise.race(underway);
      signal.throwIfAborted();
      if (now() >= untilMs) break;
      const lineId = lineJobId(jobId, index);
      const known = await patiently(signal, () => queue.find(lineId, context.keyId));
      if (known !== undefined && hasEnded(known)) {
        count(known);
        continue;
      }
      const { line, endpoint } = readLine(bytes, service);
      if (known === undefined) await take(service, { line, endpoint, lineId, strict, untilMs }, context);
      const followed = follow(endpoint.kind, lineId).finally(() => underway.delete(followed));
      // `Promise.race` and `Promise.all` throw its failure.
      followed.catch(() => undefined);
      underway.add(followed);
    }
    await Promise.all(underway);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  // What has not begun by then never does.
  counts.failed = lines - counts.completed;
  await patiently(signal, () => queue.keepCounts(jobId, counts));
  // Kept for as long as the output from now on.
  return { ...(await keepNames(service, jobId, fileId)), counts };
}

interface LineToTake<Kind extends LineKind> {
  readonly line: Parameters<typeof checkLine<Kind>>[0]['line'];
  readonly endpoint: LineEndpoint<Kind>;
  readonly lineId: string;
  readonly strict: boolean;
  readonly untilMs: number;
}

/** Makes a line's job, once its key's limits let it in; a line that they never let in has failed. */
async function take<Kind extends LineKind, Batch extends BatchKind>(
  { queue, uploads, meter, readIdentity, now }: BatchService<Kind, Batch>,
  { line, endpoint, lineId, strict, untilMs }: LineToTake<Kind>,
  { jobId: batchId, keyId, requestId, signal }: BatchContext,
): Promise<void> {
  const { kind } = endpoint;
  const { model } = line.body;
  const check = async () => {
    const identity = await readIdentity(keyId);
    if (identity === undefined) throw keyGone();
    return { identity, checked: checkLine({ line, endpoint }, { identity, strict }) };
  };
  let stored: string[] = [];
  try {
    const { identity, checked } = await patiently(signal, check);
    const input = await checked.input(signal);
    stored = uploadsOf(kind, input);
    const { team, accounts, jobShare } = identity;
    const { estimate } = checked;
    const share = { ...jobShare, jobPriority: LOWEST_PRIORITY };
    const subject = { id: lineId, keyId, team, endpoint: endpoint.usage, model, startedAtMs: now() };
    const leaseMs = longestLifeMs(kind, { isDetached: true });
    const admit = async () => {
      const slot = await queue.reserveSlot(kind, { keyId, share });
      try {
        // A run that was interrupted here has reserved the same, which counts once.
        await meter.begin({ subject, accounts, estimate, leaseMs });
        return slot;
      } catch (error) {
        await slot.free();
        throw error;
      }
    };
    await using slot = await patiently(signal, admit, () => untilMs - now());
    const metering = { subject, estimate };
    const owner = { keyId, requestId, batchId, metering, share, slot, isDetached: true };
    const handle = await queue.enqueue(kind, input, owner);
    handle.leave();
  } catch (error) {
    await uploads.delete(...stored);
    signal.throwIfAborted();
    if (!(error instanceof GatewayError)) throw error;
    await patiently(signal, () => queue.keepRefused({ id: lineId, kind, keyId, model }, error));
  }
}

interface FollowedLine<Kind extends LineKind> {
  readonly kind: Kind;
  readonly lineId: string;
  readonly context: BatchContext;
}

/** How a line's job has ended; undefined where it has been lost. */
async function endOf<Kind extends LineKind, Batch extends BatchKind>(
  { queue }: BatchService<Kind, Batch>,
  { kind, lineId, context: { keyId, signal } }: FollowedLine<Kind>,
): Promise<JobRecord | undefined> {
  for (;;) {
    const { promise: changed, resolve: onChange } = Promise.withResolvers<void>();
    const watching = queue.watch(kind, lineId, onChange);
    const stop = () => onChange();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const record = await patiently(signal, () => queue.find(lineId, keyId));
      if (record === undefined || hasEnded(record)) return record;
      await changed;
      signal.throwIfAborted();
    } finally {
      watching.stop();
      signal.removeEventListener('abort', stop);
    }
  }
}

/** What lets a line in later. */
const WAITED_OUT: ReadonlySet<ErrorCode> = new Set([
  'rate_limited',
  'rate_limited_tokens',
  'queue_full',
  'service_unavailable',
]);

/** Tries again for as long as a limit, a full queue or Redis being away is all that is in the way. */
async function patiently<Result>(
  signal: AbortSignal,
  processor: () => Promise<Result>,
  leftMs: () => number = () => Number.POSITIVE_INFINITY,
): Promise<Result> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await processor();
    } catch (error) {
      if (!(error instanceof GatewayError && error.retry && WAITED_OUT.has(error.code))) throw error;
      const seconds = Math.min(MAX_WAIT_SECONDS, error.options.retryAfterSeconds ?? DEFAULT_WAIT_SECONDS);
      if (leftMs() < seconds * 1000) throw error;
      await delay(seconds * 1000, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

const keyGone = (): GatewayError =>
  new GatewayError(
    'invalid_key',
    'The key that created the batch no longer works, so the line was not started.',
  );
