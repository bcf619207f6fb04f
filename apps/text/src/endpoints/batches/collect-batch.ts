import { randomUUID } from 'node:crypto';
import { GatewayError } from '@gateway/contracts/gateway-error';
import { hasEnded } from '@gateway/jobs/records/job-record';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import { endOfLine } from '@gateway/model-service/batch/run-batch';
import { toGatewayError } from '@gateway/service-kit/error-response';
import { z } from 'zod';
import { batchIdOf } from '../../batches/batch-id.ts';
import type { BatchEnd, BatchProblem, BatchRecord, LineOutcomes } from '../../batches/batch-records.ts';
import { fileIdOf } from '../../batches/stored-files.ts';
import { type FileLine, inOrder, linesOf } from './batch-lines.ts';
import type { TextBatchService, TextJob } from './batch-service.ts';
import { problemOf } from './check-lines.ts';
import { type EndedLine, type LineOutcome, RESULT_FORMS } from './line-outcomes.ts';

/** Why a batch is over: `completed`, where all its lines have been begun. */
export interface EndReason {
  readonly status: BatchEnd['status'];
  readonly problems?: readonly BatchProblem[];
}

/** Lines that are looked up at a time. */
const AT_ONCE = 16;
const CLAIM_RENEWAL_MS = 20_000;

const Named = z.object({ custom_id: z.string() });

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
  const renewal = setInterval(() => records.claim(id, by).catch(service.onError), CLAIM_RENEWAL_MS);
  try {
    const batch = await records.find(id);
    if (batch === undefined) throw new GatewayError('object_not_found', 'The batch has been forgotten.');
    if (batch.end !== null) return batch.end;
    const collected = await collect(service, batch, reason, signal);
    await records.end(id, collected.end);
    await clearAway(service, batch, collected.done).catch(service.onError);
    return collected.end;
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
  const lookUp = lineLookUp(service, batch, reason, signal);
  /** The first file counts all lines, and the others look up their own only. */
  const linesOfFile = async function* (takes: (type: LineOutcome['type']) => boolean) {
    const isFirst = types.length === 0;
    const own = async function* () {
      for await (const line of linesOf(service, batch.fileId)) {
        const type = types[line.index];
        if (isFirst || (type !== undefined && takes(type))) yield line;
      }
    };
    for await (const line of inOrder(own(), AT_ONCE, lookUp)) {
      signal.throwIfAborted();
      if (isFirst) count(line);
      if (takes(line.outcome.type)) yield Buffer.from(`${form.write(line)}\n`);
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
    await files.put(
      {
        id,
        keyId: batch.keyId,
        filename: `${batchIdOf(batch.face, batch.id)}_${name}.jsonl`,
        purpose: 'batch_output',
        createdAtMs: nowMs,
        expiresAtMs: nowMs + batch.resultSeconds * 1000,
        isListed: batch.face === 'openai',
      },
      all(),
    );
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

interface LookedUp extends EndedLine {
  readonly hasBegun: boolean;
}

const lineLookUp =
  (
    { queue }: TextBatchService,
    batch: BatchRecord,
    reason: EndReason,
    signal: AbortSignal,
  ): ((line: FileLine) => Promise<LookedUp>) =>
  async ({ index, bytes }) => {
    const id = lineJobId(batch.id, index);
    const customId = Named.parse(JSON.parse(bytes.toString())).custom_id;
    const context = { keyId: batch.keyId, signal };
    const record = await endOfLine<TextJob, 'text.batch'>(
      { queue },
      { kind: 'text.line', lineId: id, context },
    );
    if (record === undefined) return { id, customId, outcome: unbegunOutcome(reason), hasBegun: false };
    const { status, error } = record;
    if (status === 'cancelled') return { id, customId, outcome: { type: 'canceled' }, hasBegun: false };
    const outcome: LineOutcome =
      error === null
        ? await queue.outputOf('text.line', id).then(
            (output) => ({ type: 'succeeded', output }),
            (thrown: unknown) => ({ type: 'errored', error: toGatewayError(thrown) }),
          )
        : { type: 'errored', error: GatewayError.deserialize(error) };
    return { id, customId, outcome, hasBegun: true };
  };

/** Of a line that nobody has begun, and never will. */
function unbegunOutcome({ status, problems }: EndReason): LineOutcome {
  if (status === 'cancelled') return { type: 'canceled' };
  if (status === 'expired') return { type: 'expired' };
  const [first] = problems ?? [];
  const why = first === undefined ? '' : ` ${first.message}`;
  return {
    type: 'errored',
    error: new GatewayError('outcome_unknown', `The batch ended before this request was run.${why}`),
  };
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
  const { records, queue, stopping } = service;
  const batch = await records.find(id);
  if (batch === undefined || batch.end !== null) return;
  const job = await queue.find(id, batch.keyId);
  if (job !== undefined && !hasEnded(job)) return;
  const isCancelled = batch.cancellingAtMs !== null || job?.status === 'cancelled';
  const error = job?.error ? GatewayError.deserialize(job.error) : null;
  const reason: EndReason = isCancelled
    ? { status: 'cancelled' }
    : { status: 'failed', problems: error === null ? [] : [problemOf(error, null)] };
  await collectBatch(service, id, reason, stopping);
}
