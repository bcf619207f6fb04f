import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { ConsumedUsage } from '@gateway/contracts/usage/usage-record';
import { type JobSpec, NOT_BEGUN } from '@gateway/jobs/catalog';
import { outcomeUnknown, toJobError } from '@gateway/jobs/job-failure';
import { withEarlier } from '@gateway/jobs/job-metering';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import { type ByteLoan, createByteBudget } from '@gateway/jobs/worker/byte-budget';
import type { JobContext } from '@gateway/jobs/worker/job-processor';
import { retryDelayMs } from '@gateway/jobs/worker/retry-policy';
import { runStoppable, WorkerStopping } from '@gateway/jobs/worker/running-job';
import type { LineEnding } from '../../batches/journal-entries.ts';
import type { LineJournal } from '../../batches/line-journal.ts';
import { JournalTaken } from '../../batches/line-journal.ts';
import { type AnsweredLine, answerLine } from './answer-line.ts';
import type { FileLine } from './batch-lines.ts';
import type { TextBatchRunner } from './batch-service.ts';
import { endLine, releaseReservation, settlementFor, triedBefore } from './end-line.ts';
import { createTurns, remembering, type TakenLine, type Taking, takeLine } from './take-line.ts';
import type { textLines } from './text-lines.ts';
import { trackLines } from './track-lines.ts';
import { Underway } from './underway.ts';

const MINUTE_MS = 60_000;

/** Nobody waits: a provider that has too much to do is left alone for longer than for a caller. */
export const LINE_RULES: Pick<JobSpec, 'attempts' | 'retry' | 'timeLimitMs'> = {
  attempts: 6,
  retry: { notBegun: NOT_BEGUN, mayHaveBegun: new Set(), firstDelayMs: 2000, maxDelayMs: 2 * MINUTE_MS },
  timeLimitMs: 60 * MINUTE_MS,
};

/** Of as many lines as may be at work at a time: some wait for their turn, and some for their end to be kept. */
const WINDOW = 3;
/** A line as bytes, and as what its endpoint reads. */
const BODY_COPIES = 2;
/** An answer as bytes, as text, and as it is written. */
const ANSWER_COPIES = 3;
/** Of a batch's lines that are being let in, which may take long: they hold nothing of what lines of other batches need. */
const BEING_TAKEN_BYTES = 1024 * 1024;
/** Lines for which it is kept at a time that they may have been taken. */
const TAKEN_AHEAD = 256;

/** What a run of lines takes of its job. */
export interface LineRunContext
  extends Pick<JobContext, 'jobId' | 'keyId' | 'requestId' | 'signal' | 'trace'> {
  /** Aborted when lines at work are waited for no longer, which is after `signal`. */
  readonly ending: AbortSignal;
}

interface LinesToRun {
  readonly journal: LineJournal;
  readonly lines: AsyncIterable<FileLine>;
  readonly total: number;
  /** Lines that have not begun by then are not begun. Unix milliseconds. */
  readonly untilMs: number;
  readonly endpoints: ReturnType<typeof textLines>;
}

/**
 * Does the lines of a batch, each as for a caller who waits, as its key's limits let them in, until all of them have ended. What has
 * become of lines is in the batch's journal, so that a run that was interrupted is gone on with by another.
 *
 * @throws the reason of the signal, when lines that were at work have ended
 */
export async function runLines(
  service: TextBatchRunner,
  { journal, lines, total, untilMs, endpoints }: LinesToRun,
  context: LineRunContext,
): Promise<void> {
  const { places, lineMemory, now, progress, onError } = service;
  const { jobId, keyId, signal, ending } = context;
  const taken = new AbortController();
  const track = trackLines({ progress, journal, batchId: jobId, total, onError });
  const underway = new Underway();
  const taking: Taking = {
    ...{ service, endpoints, context, untilMs },
    readIdentity: remembering(() => service.readIdentity(keyId), now),
    atWork: new Underway(),
    inTurn: createTurns(),
  };
  const doing = {
    ...{ service, journal, context, untilMs, track },
    lost: AbortSignal.any([ending, taken.signal]),
    takenBefore: journal.reach,
  };
  const beingTaken = createByteBudget(BEING_TAKEN_BYTES);
  /** Lines that its key may have at work here. */
  let atOnce = places.most;
  let isLate = false;
  const takeAndDo = async (line: FileLine, loan: ByteLoan): Promise<void> => {
    const one = await takeLine(taking, line).finally(() => loan[Symbol.dispose]());
    if (one === null) isLate = true;
    else if (one instanceof GatewayError) await refuseLine(doing, line.index, one);
    else {
      atOnce = Math.min(places.most, one.share.concurrentJobs ?? places.most);
      await taking.atWork.add(holdAndDo(line, one));
    }
  };
  /** Only what limits have let in takes of the memory that lines of other keys need as well. */
  const holdAndDo = async (line: FileLine, one: TakenLine): Promise<void> => {
    using _held = await lineMemory.bodies.take(BODY_COPIES * line.sizeBytes, signal);
    await doLine(doing, one);
  };
  try {
    for await (const line of lines) {
      const { index, sizeBytes } = line;
      if (journal.end(index) !== undefined) continue;
      while (underway.size >= WINDOW * atOnce) await underway.oneEnded();
      signal.throwIfAborted();
      if (isLate || now() >= untilMs) break;
      if (index >= journal.reach)
        await journal.extend(Math.max(index + 1, Math.min(total, index + TAKEN_AHEAD)));
      const loan = await beingTaken.take(sizeBytes, signal);
      underway.add(takeAndDo(line, loan)).catch(() => undefined);
    }
    while (underway.size > 0) await underway.oneEnded();
    await underway.oneEnded();
  } catch (error) {
    if (error instanceof JournalTaken) taken.abort(error);
    await underway.settled();
    signal.throwIfAborted();
    throw error;
  } finally {
    // What has not begun after all is known to whoever goes on.
    await journal.close();
    await track.close();
  }
}

interface Doing {
  readonly service: TextBatchRunner;
  readonly journal: LineJournal;
  readonly context: LineRunContext;
  /** Aborted when lines at work are waited for no longer. */
  readonly lost: AbortSignal;
  readonly track: ReturnType<typeof trackLines>;
  readonly untilMs: number;
  /** Lines below may have been taken by an earlier run. */
  readonly takenBefore: number;
}

async function refuseLine(
  { service, journal, context: { jobId, keyId }, takenBefore, track }: Doing,
  index: number,
  error: GatewayError,
): Promise<void> {
  const settlement = triedBefore(journal, index, error);
  if (settlement === null && index < takenBefore)
    await releaseReservation(service, { keyId, id: lineJobId(jobId, index) });
  await endLine(service, journal, index, { ending: { type: 'errored', error }, settlement });
  track.changed(index);
}

/** Does a line, again where its provider has certainly not begun it, until it is too late for it. Rejects when it is stopped before: then nothing is at its provider. */
async function doLine(doing: Doing, line: TakenLine): Promise<void> {
  const { signal } = doing.context;
  for (let attempt = 1; ; attempt += 1) {
    const againMs = await tryLine(doing, line, attempt);
    if (againMs === undefined) return;
    await delay(againMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

/** Resolves when a line has ended, or it is too late for it; to how long to wait where it is to be tried again. */
async function tryLine(doing: Doing, line: TakenLine, attempt: number): Promise<number | undefined> {
  const { service, journal, context, untilMs, track } = doing;
  const { index, metering, input } = line;
  const place = await service.places.take({ keyId: context.keyId, share: line.share }, context.signal);
  let tried: Awaited<ReturnType<typeof attemptLine>>;
  // Until it is kept what it was answered.
  using _held = await service.lineMemory.answers
    .take(ANSWER_COPIES * (input.answerBytes ?? input.body.length), context.signal)
    .catch((error: unknown) => {
      place[Symbol.dispose]();
      throw error;
    });
  try {
    if (service.now() >= untilMs) return undefined;
    tried = await attemptLine(doing, line, attempt);
  } finally {
    place[Symbol.dispose]();
  }
  const { consumed, outcome, queuedMs, startedAtMs, trace } = tried;
  const before = journal.usedBefore(index);
  const error = outcome instanceof GatewayError ? outcome : undefined;
  const againMs = error && retryDelayMs(error, attempt, LINE_RULES);
  if (againMs !== undefined) {
    const used = consumed && before ? withEarlier(consumed, before) : (consumed ?? before);
    journal.notBegun(index, metering, used);
    track.changed(index);
    return againMs;
  }
  const nowMs = service.now();
  const used = outcome instanceof GatewayError ? consumed : (consumed ?? outcome.usage);
  const settlement = settlementFor(service, {
    ...{ metering, hasRun: true, consumed: used, consumedBefore: before, error, nowMs, queuedMs },
    traceId: trace?.shownId,
  });
  const ending: LineEnding =
    outcome instanceof GatewayError
      ? { type: 'errored', error: outcome }
      : { type: 'succeeded', answer: outcome };
  await endLine(service, journal, index, { ending, settlement });
  track.changed(index);
  const { subject, result: usage } = settlement;
  const about = { id: subject.id, batchId: context.jobId, subject, error, usage, attempts: attempt };
  service.onLine({ ...about, queuedMs, durationMs: nowMs - startedAtMs, trace });
  return undefined;
}

/** One attempt at a line. */
async function attemptLine(
  { service, journal, context, lost, track }: Doing,
  { index, input, metering, takenAtMs }: TakenLine,
  attempt: number,
) {
  const { services, now } = service;
  const { requestId, signal } = context;
  await journal.begin(index, metering);
  track.changed(index);
  if (signal.aborted) {
    journal.notBegun(index, metering, journal.usedBefore(index));
    signal.throwIfAborted();
  }
  const startedAtMs = now();
  const queuedMs = startedAtMs - takenAtMs;
  const trace = context.trace?.linked('internal');
  let consumed: ConsumedUsage | null | undefined;
  const errorFor = (thrown: unknown) =>
    thrown instanceof WorkerStopping || thrown instanceof JournalTaken
      ? outcomeUnknown(thrown)
      : toJobError(thrown);
  const asked = {
    ...{ jobId: metering.subject.id, requestId, trace },
    consumed: (used: ConsumedUsage | null | undefined) => {
      consumed = used;
    },
    isTriedAgain: (thrown: unknown) => retryDelayMs(errorFor(thrown), attempt, LINE_RULES) !== undefined,
  };
  const stopper = new AbortController();
  const stop = () => stopper.abort(lost.reason);
  if (lost.aborted) stop();
  lost.addEventListener('abort', stop, { once: true });
  const outcome: AnsweredLine | GatewayError = await runStoppable(
    (stopped) => answerLine(services, input, { ...asked, signal: stopped }),
    { stopper, timeLimitMs: LINE_RULES.timeLimitMs },
  )
    .catch(errorFor)
    .finally(() => lost.removeEventListener('abort', stop));
  return { consumed, outcome, queuedMs, startedAtMs, trace };
}
