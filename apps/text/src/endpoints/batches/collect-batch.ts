import { randomUUID } from 'node:crypto';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { jobCancelled } from '@gateway/jobs/events/job-listener';
import { hasEnded } from '@gateway/jobs/records/job-record';
import { z } from 'zod';
import { batchIdOf } from '../../batches/batch-id.ts';
import type { BatchEnd, BatchRecord, LineOutcomes } from '../../batches/batch-records.ts';
import { JournalTaken, LineJournal } from '../../batches/line-journal.ts';
import { fileIdOf } from '../../batches/stored-files.ts';
import { inOrder, linesOf } from './batch-lines.ts';
import type { TextBatches, TextBatchService } from './batch-service.ts';
import { problemOf } from './check-lines.ts';
import { ENDING_MS } from './create-batch.ts';
import { endInterrupted, releaseUnbegun } from './end-line.ts';
import { type EndReason, type LookedUp, lineLookUp } from './line-look-up.ts';
import { type LineOutcome, RESULT_FORMS } from './line-outcomes.ts';
import { runAtProvider } from './provider/run-at-provider.ts';
import { OrderedResults } from './result-memory.ts';
import { trackLines } from './track-lines.ts';

/** Lines that are looked up at a time. */
const AT_ONCE = 16;
const CLAIM_RENEWAL_MS = 20_000;

const Named = z.object({ custom_id: z.string() });
const nameIn = (line: Buffer): string => Named.parse(JSON.parse(line.toString())).custom_id;

interface CollectOptions {
  readonly reason: EndReason;
  /** That of who has run it. Absent: it is taken. */
  readonly journal?: LineJournal;
  readonly signal: AbortSignal;
}

/**
 * Puts the results of a batch into files, waits for lines that are at a provider, and ends it. One process at
 * a time does so, and another goes on where that one dies. Resolves to its end; null where another process is at it.
 */
export async function collectBatch(
  service: TextBatches,
  id: string,
  { reason, journal: known, signal }: CollectOptions,
): Promise<BatchEnd | null> {
  const { records } = service;
  const by = randomUUID();
  if (!(await records.claim(id, by))) return null;
  const lost = new AbortController();
  const renew = async () => {
    // Another one has it, who deletes the journal when it is done.
    if (!(await records.claim(id, by))) lost.abort(new Error(`the claim on the batch ${id} was lost`));
  };
  const renewal = setInterval(() => renew().catch(service.onError), CLAIM_RENEWAL_MS);
  try {
    const batch = await records.find(id);
    if (batch === undefined) throw new GatewayError('object_not_found', 'The batch has been forgotten.');
    if (batch.end !== null) return batch.end;
    const isThere = await service.files.hold(batch.fileId, service.now() + ENDING_MS);
    const held = AbortSignal.any([signal, lost.signal]);
    const { journals: store, onError } = service;
    const journal = known ?? (await LineJournal.open({ store, batchId: id, signal: held, onError }));
    await endInterrupted(service, id, journal);
    // What a provider does of it is stopped, and kept as far as it has come.
    if (isThere) {
      const context = { requestId: id, signal: held };
      await runAtProvider(service, { batch, journal }, { context, isEnding: true });
    }
    await releaseUnbegun(service, batch, journal);
    const end =
      isThere || batch.lines === null
        ? await collect(service, { batch, journal }, reason, held)
        : withoutResults(batch, service.now());
    lost.signal.throwIfAborted();
    if (batch.lines !== null)
      await trackLines({ ...service, journal, batchId: id, total: batch.lines }).close();
    await journal.close();
    await records.end(id, end);
    await clearAway(service, batch, journal).catch(service.onError);
    return end;
  } catch (error) {
    if (lost.signal.aborted || error instanceof JournalTaken) return null;
    throw error;
  } finally {
    clearInterval(renewal);
    await records.release(id, by);
  }
}

/** Of a batch whose lines nobody can read any more: it ends all the same. */
function withoutResults(batch: BatchRecord, atMs: number): BatchEnd {
  const total = batch.lines ?? 0;
  const problem = new GatewayError('object_not_found', `The file '${batch.fileId}' no longer exists.`);
  return {
    status: 'failed',
    atMs,
    counts: { total, completed: 0, failed: total },
    outcomes: { succeeded: 0, errored: total, canceled: 0, expired: 0 },
    files: {},
    problems: [problemOf(problem, null)],
    usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  };
}

/** A batch, and what has become of its lines. */
interface JournaledBatch {
  readonly batch: BatchRecord;
  readonly journal: LineJournal;
}

async function collect(
  service: TextBatches,
  { batch, journal }: JournaledBatch,
  reason: EndReason,
  signal: AbortSignal,
): Promise<BatchEnd> {
  const { files, now } = service;
  const form = RESULT_FORMS[batch.face];
  const outcomes: Record<keyof LineOutcomes, number> = { succeeded: 0, errored: 0, canceled: 0, expired: 0 };
  const usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };
  const types: LineOutcome['type'][] = [];
  let unbegun = 0;
  const count = (index: number, { outcome }: LookedUp) => {
    types.push(outcome.type);
    outcomes[outcome.type] += 1;
    const end = journal.end(index);
    if (end === undefined) unbegun += 1;
    if (end?.type !== 'succeeded' || end.tokens === null) return;
    usage.inputTokens += end.tokens.inputTokens;
    usage.cachedInputTokens += end.tokens.cachedInputTokens;
    usage.outputTokens += end.tokens.outputTokens;
    usage.reasoningTokens += end.tokens.reasoningTokens;
  };
  /** The first file counts all lines, and the others look up their own only. */
  const linesOfFile = async function* (takes: (type: LineOutcome['type']) => boolean) {
    const isFirst = types.length === 0;
    const results = new OrderedResults(service.memory, signal);
    const lookUp = lineLookUp(batch, { journal, reason, results, signal });
    const everyLine = { maxLineBytes: Number.POSITIVE_INFINITY, signal };
    const own = async function* () {
      for await (const { index, bytes } of linesOf(service, batch.fileId, everyLine)) {
        const type = types[index];
        // What is looked up holds no line: they may be large.
        if (isFirst || (type !== undefined && takes(type))) yield { index, customId: nameIn(bytes) };
      }
    };
    try {
      for await (const line of inOrder(own(), AT_ONCE, lookUp)) {
        signal.throwIfAborted();
        if (isFirst) count(types.length, line);
        if (takes(line.outcome.type)) yield Buffer.from(`${form.write(line)}\n`);
        line.written();
      }
    } finally {
      results.close();
    }
  };
  const written: Record<string, string> = {};
  for (const { name, takes } of batch.lines === null ? [] : form.files) {
    const lines = linesOfFile(takes);
    const first = await lines.next();
    if (first.done) continue;
    const id = fileIdOf(batch.id, name);
    const all = async function* () {
      yield first.value;
      yield* lines;
    };
    const nowMs = now();
    const file = {
      id,
      keyId: batch.keyId,
      filename: `${batchIdOf(batch.face, batch.id)}_${name}.jsonl`,
      purpose: 'batch_output',
      createdAtMs: nowMs,
      expiresAtMs: nowMs + batch.resultSeconds * 1000,
      isListed: batch.face === 'openai',
    };
    try {
      await files.put(file, all());
    } finally {
      // A store that is full may not have read them.
      await lines.return(undefined);
    }
    written[name] = id;
  }
  const total = batch.lines ?? 0;
  const isWhole = reason.status !== 'cancelled' && batch.lines !== null && unbegun === 0;
  return {
    status: isWhole ? 'completed' : reason.status,
    atMs: now(),
    counts: { total, completed: outcomes.succeeded, failed: types.length - outcomes.succeeded },
    outcomes,
    files: written,
    problems: isWhole ? [] : [...(reason.problems ?? [])],
    usage,
  };
}

/** What its lines have come to lies in its files now, and its own lines are nobody's any more. */
async function clearAway(
  { files }: Pick<TextBatches, 'files'>,
  { face, fileId }: BatchRecord,
  journal: LineJournal,
): Promise<void> {
  if (face === 'anthropic') await files.discard(fileId);
  await journal.delete();
}

/** Ends a batch whose job is over, where nobody else does. @param error why the job has failed */
export async function finishBatch(
  service: TextBatches,
  id: string,
  error: GatewayError | null,
): Promise<void> {
  const { records, stopping, now } = service;
  const batch = await records.find(id);
  if (batch === undefined || batch.end !== null) return;
  const isCancelled = batch.cancellingAtMs !== null || error?.code === 'job_cancelled';
  const reason: EndReason = isCancelled
    ? { status: 'cancelled' }
    : now() >= batch.untilMs
      ? { status: 'expired' }
      : { status: 'failed', problems: error === null ? [] : [problemOf(error, null)] };
  await collectBatch(service, id, { reason, signal: stopping });
}

/** The same where it is not known whether its job is over: nothing happens as long as it is not. */
export async function finishIfOver(service: TextBatchService, id: string): Promise<void> {
  const { records, files, queue, now } = service;
  const batch = await records.find(id);
  if (batch === undefined || batch.end !== null) return;
  const job = await queue.find(id, batch.keyId);
  if (job !== undefined && (!hasEnded(job) || job.isStopping)) {
    // Lines that have begun may take longer than was thought when it was made.
    await files.hold(batch.fileId, now() + ENDING_MS);
    // Redis may have been away when its caller cancelled it.
    if (batch.cancellingAtMs !== null && !job.isStopping) await queue.cancelLater(job);
    return;
  }
  const error =
    job?.status === 'cancelled' ? jobCancelled() : job?.error ? GatewayError.deserialize(job.error) : null;
  await finishBatch(service, id, error);
}
