import { randomUUID } from 'node:crypto';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { hasEnded } from '@gateway/jobs/records/job-record';
import { z } from 'zod';
import { batchIdOf } from '../../batches/batch-id.ts';
import type { BatchEnd, BatchRecord, LineOutcomes } from '../../batches/batch-records.ts';
import { fileIdOf } from '../../batches/stored-files.ts';
import { inOrder, linesOf } from './batch-lines.ts';
import type { TextBatchService } from './batch-service.ts';
import { problemOf } from './check-lines.ts';
import { ENDING_MS } from './create-batch.ts';
import { type EndReason, type LookedUp, lineLookUp } from './line-look-up.ts';
import { type LineOutcome, RESULT_FORMS } from './line-outcomes.ts';
import { runAtProvider } from './provider/run-at-provider.ts';
import { OrderedResults } from './result-memory.ts';

/** Lines that are looked up at a time. */
const AT_ONCE = 16;
const CLAIM_RENEWAL_MS = 20_000;

const Named = z.object({ custom_id: z.string() });
const nameIn = (line: Buffer): string => Named.parse(JSON.parse(line.toString())).custom_id;

/**
 * Puts the results of a batch into files that outlive its lines' jobs, waits for lines that are at a provider, and ends it. One process at
 * a time does so, and another goes on where that one dies. Resolves to its end; null where another process is at it.
 */
export async function collectBatch(
  service: TextBatchService,
  id: string,
  reason: EndReason,
  signal: AbortSignal,
): Promise<BatchEnd | null> {
  const { records } = service;
  const by = randomUUID();
  if (!(await records.claim(id, by))) return null;
  const lost = new AbortController();
  const renew = async () => {
    // Another one has it, who deletes what the lines' jobs have made when it is done.
    if (!(await records.claim(id, by))) lost.abort(new Error(`the claim on the batch ${id} was lost`));
  };
  const renewal = setInterval(() => renew().catch(service.onError), CLAIM_RENEWAL_MS);
  try {
    const batch = await records.find(id);
    if (batch === undefined) throw new GatewayError('object_not_found', 'The batch has been forgotten.');
    if (batch.end !== null) return batch.end;
    const isThere = await service.files.hold(batch.fileId, service.now() + ENDING_MS);
    const held = AbortSignal.any([signal, lost.signal]);
    // What a provider does of it is stopped, and kept as far as it has come.
    if (isThere)
      await runAtProvider(service, batch, { context: { requestId: id, signal: held }, isEnding: true });
    const collected =
      isThere || batch.lines === null
        ? await collect(service, batch, reason, held)
        : withoutResults(batch, service.now());
    lost.signal.throwIfAborted();
    await records.end(id, collected.end);
    await clearAway(service, batch, collected.done).catch(service.onError);
    return collected.end;
  } catch (error) {
    if (lost.signal.aborted) return null;
    throw error;
  } finally {
    clearInterval(renewal);
    await records.release(id, by);
  }
}

interface Collected {
  readonly end: BatchEnd;
  /** The jobs whose results are in the files now. */
  readonly done: readonly string[];
}

/** Of a batch whose lines nobody can read any more: it ends all the same. */
function withoutResults(batch: BatchRecord, atMs: number): Collected {
  const total = batch.lines ?? 0;
  const problem = new GatewayError('object_not_found', `The file '${batch.fileId}' no longer exists.`);
  const end: BatchEnd = {
    status: 'failed',
    atMs,
    counts: { total, completed: 0, failed: total },
    outcomes: { succeeded: 0, errored: total, canceled: 0, expired: 0 },
    files: {},
    problems: [problemOf(problem, null)],
    usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  };
  return { end, done: [] };
}

async function collect(
  service: TextBatchService,
  batch: BatchRecord,
  reason: EndReason,
  signal: AbortSignal,
): Promise<Collected> {
  const { files, now } = service;
  const form = RESULT_FORMS[batch.face];
  const outcomes: Record<keyof LineOutcomes, number> = { succeeded: 0, errored: 0, canceled: 0, expired: 0 };
  const usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };
  const types: LineOutcome['type'][] = [];
  const done: string[] = [];
  let unbegun = 0;
  const count = ({ id, outcome, hasBegun }: LookedUp) => {
    types.push(outcome.type);
    outcomes[outcome.type] += 1;
    if (!hasBegun) unbegun += 1;
    if (outcome.type !== 'succeeded') return;
    done.push(id);
    const { consumption } = outcome.output.usage;
    usage.inputTokens += consumption.inputTokens;
    usage.cachedInputTokens += consumption.cachedInputTokens;
    usage.outputTokens += consumption.outputTokens;
    usage.reasoningTokens += consumption.reasoningTokens;
  };
  /** The first file counts all lines, and the others look up their own only. */
  const linesOfFile = async function* (takes: (type: LineOutcome['type']) => boolean) {
    const isFirst = types.length === 0;
    const results = new OrderedResults(service.memory, signal);
    const lookUp = lineLookUp(service, batch, { reason, results, signal });
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
        if (isFirst) count(line);
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
  const end: BatchEnd = {
    status: isWhole ? 'completed' : reason.status,
    atMs: now(),
    counts: { total, completed: outcomes.succeeded, failed: types.length - outcomes.succeeded },
    outcomes,
    files: written,
    problems: isWhole ? [] : [...(reason.problems ?? [])],
    usage,
  };
  return { end, done };
}

/** What its lines' jobs have made lies in its files now, and its own lines are nobody's any more. */
async function clearAway(
  { files, queue }: TextBatchService,
  { face, fileId }: BatchRecord,
  done: readonly string[],
): Promise<void> {
  if (face === 'anthropic') await files.discard(fileId);
  const ids = async function* () {
    yield* done;
  };
  for await (const _ of inOrder(ids(), AT_ONCE, (id) => queue.removeResult({ id })));
}

/** Ends a batch whose job is over, where nobody else does. */
export async function finishBatch(service: TextBatchService, id: string): Promise<void> {
  const { records, files, queue, stopping, now } = service;
  const batch = await records.find(id);
  if (batch === undefined || batch.end !== null) return;
  const nowMs = now();
  const job = await queue.find(id, batch.keyId);
  if (job !== undefined && !hasEnded(job)) {
    // Lines that have begun may take longer than was thought when it was made.
    await files.hold(batch.fileId, nowMs + ENDING_MS);
    // Redis may have been away when its caller cancelled it.
    if (batch.cancellingAtMs !== null) await queue.cancel(job);
    return;
  }
  const isCancelled = batch.cancellingAtMs !== null || job?.status === 'cancelled';
  const error = job?.error ? GatewayError.deserialize(job.error) : null;
  const reason: EndReason = isCancelled
    ? { status: 'cancelled' }
    : nowMs >= batch.untilMs
      ? { status: 'expired' }
      : { status: 'failed', problems: error === null ? [] : [problemOf(error, null)] };
  await collectBatch(service, id, reason, stopping);
}
