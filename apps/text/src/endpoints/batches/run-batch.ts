import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { TextBatchInput, TextBatchOutput } from '@gateway/contracts/jobs';
import type { JobContext, JobProcessor } from '@gateway/jobs/worker/job-processor';
import { WorkerStopping } from '@gateway/jobs/worker/running-job';
import { patiently } from '@gateway/model-service/batch/patiently';
import { batchIdOf } from '../../batches/batch-id.ts';
import type { BatchEnd } from '../../batches/batch-records.ts';
import { JournalTaken, LineJournal } from '../../batches/line-journal.ts';
import { linesOf } from './batch-lines.ts';
import type { TextBatchRunner } from './batch-service.ts';
import { checkLines } from './check-lines.ts';
import { collectBatch, finishBatch } from './collect-batch.ts';
import { endInterrupted } from './end-line.ts';
import type { EndReason } from './line-look-up.ts';
import { runAtProvider } from './provider/run-at-provider.ts';
import { runLines } from './run-lines.ts';
import { textLines } from './text-lines.ts';

const CLAIM_RETRY_MS = 500;

/** How a batch of text requests is done: its lines are looked at, done one beside the other, and their results are put together. */
export const runTextBatch = (service: TextBatchRunner): JobProcessor<'text.batch'> => ({
  run: (input, context) =>
    runBatch(service, input, context).catch((error: unknown) => {
      // Whoever has its lines now goes on with it.
      throw error instanceof JournalTaken ? new WorkerStopping() : error;
    }),
  // It was cancelled, or has failed: what its lines came to until then is put together all the same.
  ended: async ({ jobId, error }) => {
    if (error !== undefined) await finishBatch(service, jobId, error);
  },
});

async function runBatch(
  service: TextBatchRunner,
  input: TextBatchInput,
  given: JobContext,
): Promise<TextBatchOutput> {
  const { records, services, journals, now, onError } = service;
  const { jobId, keyId, requestId, closing, aside } = given;
  // Nothing more is begun then. Lines that have begun end.
  const signal = AbortSignal.any([given.signal, closing]);
  const context = { ...given, signal };
  await records.create(jobId, { ...input, keyId });
  const label = batchIdOf(input.face, jobId);
  const { headers, endpoint, fileId, untilMs } = input;
  const endpoints = textLines(services, endpoint, { requestId, headers, label });
  const known = await records.find(jobId);
  // A person had its job queued again.
  if (known?.end) return { counts: known.end.counts };
  using ending = endingOf(closing, service.drainTimeoutMs);
  const opening = { store: journals, batchId: jobId, signal: ending.signal, onError };
  const journal = await patiently(signal, () => LineJournal.open(opening).catch(spaceLater));
  // Who had it before may have ended the batch meanwhile, and deleted what this one would have read.
  const over = (await records.find(jobId))?.end;
  if (over) {
    await journal.delete().catch(onError);
    return { counts: over.counts };
  }
  await endInterrupted(service, jobId, journal);
  const total = known?.lines ?? (await check(service, input, { context, endpoints, journal }));
  await records.mark(jobId, 'inProgressAtMs', now());
  const batch = known?.lines === total ? known : await records.find(jobId);
  if (batch !== undefined)
    await runAtProvider(service, { batch, journal }, { context, aside, isEnding: false });
  const lines = linesOf(service, fileId, { signal });
  const run = { journal, lines, total, untilMs, endpoints };
  await runLines(service, run, { ...context, ending: ending.signal });
  await records.mark(jobId, 'finalizingAtMs', now());
  const status = now() < untilMs ? 'completed' : 'expired';
  const { counts } = await collected(service, context, { reason: { status }, journal });
  return { counts };
}

/** A batch is gone on with when there is space again. */
function spaceLater(error: unknown): never {
  if (!(error instanceof GatewayError) || error.code !== 'storage_full') throw error;
  throw new GatewayError('service_unavailable', { message: error.message, cause: error });
}

/** Aborted when a process that stops waits no longer. */
function endingOf(closing: AbortSignal, drainTimeoutMs: number) {
  const ending = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const begin = () => {
    timer = setTimeout(() => ending.abort(new WorkerStopping()), drainTimeoutMs);
  };
  if (closing.aborted) begin();
  closing.addEventListener('abort', begin, { once: true });
  return {
    signal: ending.signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      closing.removeEventListener('abort', begin);
    },
  };
}

interface Checking {
  readonly context: Pick<JobContext, 'jobId' | 'keyId' | 'signal'>;
  readonly endpoints: ReturnType<typeof textLines>;
  readonly journal: LineJournal;
}

/** The number of its lines. @throws {GatewayError} the first problem, where the batch has ended because of it */
async function check(
  service: TextBatchRunner,
  { fileId }: TextBatchInput,
  { context: { jobId, keyId, signal }, endpoints, journal }: Checking,
): Promise<number> {
  const { services, records, maxLines, readIdentity } = service;
  const identity = await readIdentity(keyId);
  if (identity === undefined)
    throw new GatewayError('invalid_key', 'The key that created the batch no longer works.');
  const options = { services, endpoints, identity, maxLines };
  const { lines, onlyModel, problems } = await checkLines(linesOf(service, fileId, { signal }), options);
  signal.throwIfAborted();
  const [first] = problems;
  if (first === undefined) {
    await records.checked(jobId, { lines, onlyModel });
    return lines;
  }
  await collectBatch(service, jobId, { reason: { status: 'failed', problems }, journal, signal });
  const message = first.line === null ? first.message : `Line ${first.line}: ${first.message}`;
  throw new GatewayError('invalid_value', { message, ...(first.param && { path: [first.param] }) });
}

/** A run that was interrupted may be at it still, until its claim is over. */
async function collected(
  service: TextBatchRunner,
  { jobId, signal }: Pick<JobContext, 'jobId' | 'signal'>,
  { reason, journal }: { readonly reason: EndReason; readonly journal: LineJournal },
): Promise<BatchEnd> {
  for (;;) {
    const end = await collectBatch(service, jobId, { reason, journal, signal });
    if (end !== null) return end;
    await delay(CLAIM_RETRY_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
