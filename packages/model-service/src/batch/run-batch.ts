import { GatewayError } from '@gateway/contracts/gateway-error';
import type { BatchInput, BatchOutput, MediaBatchKind } from '@gateway/contracts/jobs';
import { longestLifeMs } from '@gateway/jobs/catalog';
import { type JobRecord, uploadsOf } from '@gateway/jobs/job-envelope';
import type { FoundJob } from '@gateway/jobs/records/find-job';
import { hasEnded } from '@gateway/jobs/records/job-record';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import type { JobContext } from '@gateway/jobs/worker/job-processor';
import { keepNames, storedLines } from './batch-file.ts';
import type { BatchService, LineKind } from './batch-service.ts';
import { checkLine, type JobLineEndpoint, type ReadLine, readLine } from './line-endpoint.ts';
import { isWaitedOut, patiently } from './patiently.ts';

/** Lines of one batch that wait or are at work at a time. */
const AT_ONCE = 16;
/** After every job of an ordinary priority. */
const LOWEST_PRIORITY = 9;

/** What a batch's run takes of its job. */
export type BatchContext = Pick<
  JobContext,
  'jobId' | 'keyId' | 'requestId' | 'signal' | 'trace' | 'contentLog'
>;

/**
 * Takes a batch's lines one after the other, as limits and queues let them in, until all of them have ended. Which lines have been
 * taken follows from their jobs' ids, so that a run that was interrupted is gone on with by another: one after it looks for each line's
 * job before it takes the line. The first one looks among those that have ended, since another run may have done lines while it could not
 * be heard of. A job that is in its queue is there once, whoever stores it.
 */
export async function runBatch<Kind extends LineKind, Batch extends MediaBatchKind>(
  service: BatchService<Kind, Batch>,
  { fileId, lines: total, untilMs, strict }: BatchInput,
  context: BatchContext,
): Promise<BatchOutput> {
  const { queue, uploads, now } = service;
  const { jobId, signal } = context;
  await keepNames(service, jobId, fileId);
  const counts = { total, completed: 0, failed: 0 };
  const count = (record: Pick<JobRecord, 'status'> | undefined) => {
    counts[record?.status === 'completed' ? 'completed' : 'failed'] += 1;
  };
  const isFirstRun = (await patiently(signal, () => queue.countsOf(jobId))) === null;
  const keepCounts = oneAtATime(() => patiently(signal, () => queue.keepCounts(jobId, counts)));
  await keepCounts();
  const underway = new Set<Promise<void>>();
  try {
    for await (const { index, bytes } of storedLines(uploads, fileId)) {
      while (underway.size >= AT_ONCE) await Promise.race(underway);
      signal.throwIfAborted();
      if (now() >= untilMs) break;
      const lineId = lineJobId(jobId, index);
      const isNew = isFirstRun && !(await patiently(signal, () => queue.hasEnded(lineId)));
      const known = isNew ? undefined : await patiently(signal, () => queue.find(lineId, context.keyId));
      if (known !== undefined && hasEnded(known)) {
        count(known);
        continue;
      }
      const read = readLine(bytes, service);
      const { kind } = read.endpoint;
      const oneEnded = () => (underway.size === 0 ? null : Promise.race(underway));
      // From before its job is there, so that no end is missed.
      const end = watchEnd(service, { kind, lineId, context });
      const isTaken =
        known === undefined &&
        (await take(service, { read, lineId, strict, untilMs, oneEnded }, context).catch((error: unknown) => {
          end.stop();
          throw error;
        }));
      const follow = async () => {
        count(await end.record({ isUnderway: isTaken }));
        await keepCounts();
      };
      const followed = follow().finally(() => underway.delete(followed));
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
  counts.failed = total - counts.completed;
  await patiently(signal, () => queue.keepCounts(jobId, counts));
  // Kept for as long as the output from now on.
  return { ...(await keepNames(service, jobId, fileId)), counts };
}

interface LineToTake<Kind extends LineKind> {
  readonly read: ReadLine<JobLineEndpoint<Kind>>;
  readonly lineId: string;
  readonly strict: boolean;
  readonly untilMs: number;
  /** Resolves when another line of the batch has ended; null where none is at work. */
  readonly oneEnded: () => Promise<void> | null;
}

/**
 * Makes a line's job, once its key's limits let it in. Resolves to whether there is one: a line that is refused has the record of one that
 * has ended, and one that they do not let in before the batch is over has none, as those after it.
 */
async function take<Kind extends LineKind, Batch extends MediaBatchKind>(
  { queue, uploads, meter, readIdentity, now }: BatchService<Kind, Batch>,
  { read, lineId, strict, untilMs, oneEnded }: LineToTake<Kind>,
  { jobId: batchId, keyId, requestId, signal, trace, contentLog }: BatchContext,
): Promise<boolean> {
  const { line, endpoint } = read;
  const { kind } = endpoint;
  const { model } = line.body;
  const check = async () => {
    const identity = await readIdentity(keyId);
    if (identity === undefined) throw keyGone();
    return { identity, checked: await checkLine(read, { identity, strict }) };
  };
  let stored: string[] = [];
  try {
    const { identity, checked } = await patiently(signal, check);
    const input = await checked.input(signal);
    stored = uploadsOf(kind, input);
    const { team, accounts, jobShare } = identity;
    const { estimate, mostMicroUsd, names } = checked;
    const share = { ...jobShare, jobPriority: LOWEST_PRIORITY };
    const begun = { id: lineId, keyId, team, endpoint: endpoint.usage, model, startedAtMs: now() };
    const subject = { ...begun, requestId, ...names };
    const leaseMs = longestLifeMs(kind, { isDetached: true });
    const admit = async () => {
      const slot = await queue.reserveSlot(kind, { keyId, share });
      try {
        // A run that was interrupted here has reserved the same, which counts once.
        await meter.begin({ subject, accounts, estimate, mostMicroUsd, leaseMs });
        return slot;
      } catch (error) {
        await slot.free();
        throw error;
      }
    };
    const admitted = async () => {
      for (;;) {
        try {
          return await admit();
        } catch (error) {
          // Lines at work hold more of the budget than they will have used.
          const ended = isOverBudget(error) ? oneEnded() : null;
          if (ended === null) throw error;
          await ended;
        }
      }
    };
    await using slot = await patiently(signal, admitted, () => untilMs - now());
    const metering = { subject, estimate };
    const owner = { keyId, requestId, batchId, metering, share, slot, isDetached: true, trace, contentLog };
    const handle = await queue.enqueue(kind, input, owner);
    handle.leave();
    return true;
  } catch (error) {
    await uploads.delete(...stored);
    signal.throwIfAborted();
    if (!(error instanceof GatewayError)) throw error;
    if (isWaitedOut(error) && now() >= untilMs) return false;
    await patiently(signal, () => queue.keepRefused({ id: lineId, kind, keyId, model }, error));
    return false;
  }
}

interface FollowedLine<Kind extends LineKind> {
  readonly kind: Kind;
  readonly lineId: string;
  readonly context: Pick<BatchContext, 'keyId' | 'signal'>;
}

/** Watches for the end of a line's job from now on, until it is known. */
function watchEnd<Kind extends LineKind, Batch extends MediaBatchKind>(
  { queue }: Pick<BatchService<Kind, Batch>, 'queue'>,
  { kind, lineId, context: { keyId, signal } }: FollowedLine<Kind>,
) {
  let ended = Promise.withResolvers<void>();
  const watching = queue.watchEnd(kind, lineId, () => ended.resolve());
  const record = async (isUnderway: boolean): Promise<FoundJob | undefined> => {
    if (isUnderway) await ended.promise;
    for (;;) {
      signal.throwIfAborted();
      ended = Promise.withResolvers();
      const found = await patiently(signal, () => queue.find(lineId, keyId));
      if (found === undefined || hasEnded(found)) return found;
      await ended.promise;
    }
  };
  return {
    stop: watching.stop,
    /** @param isUnderway whether it had certainly not ended when the watching began */
    record: async ({ isUnderway }: { readonly isUnderway: boolean }): Promise<FoundJob | undefined> => {
      const stop = () => ended.resolve();
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop, { once: true });
      try {
        return await record(isUnderway);
      } finally {
        watching.stop();
        signal.removeEventListener('abort', stop);
      }
    },
  };
}

/** Has one write at a time. Those that are asked for meanwhile are one, which begins after it. */
function oneAtATime(write: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const begin = () => {
    next = null;
    running = write().finally(() => {
      running = null;
    });
    return running;
  };
  return () => {
    if (running === null) return begin();
    next ??= running.then(begin, begin);
    return next;
  };
}

const isOverBudget = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === 'budget_exhausted';

const keyGone = (): GatewayError =>
  new GatewayError(
    'invalid_key',
    'The key that created the batch no longer works, so the line was not started.',
  );
