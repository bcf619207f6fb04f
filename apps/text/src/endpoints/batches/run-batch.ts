import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { TextBatchInput } from '@gateway/contracts/jobs';
import type { JobContext, JobProcessor } from '@gateway/jobs/worker/job-processor';
import { runLines } from '@gateway/model-service/batch/run-batch';
import { batchIdOf } from '../../batches/batch-id.ts';
import type { BatchEnd } from '../../batches/batch-records.ts';
import { linesOf } from './batch-lines.ts';
import type { TextBatchService, TextJob } from './batch-service.ts';
import { checkLines } from './check-lines.ts';
import { collectBatch, finishBatch } from './collect-batch.ts';
import type { EndReason } from './line-look-up.ts';
import { runAtProvider } from './provider/run-at-provider.ts';
import { textLines } from './text-lines.ts';

const CLAIM_RETRY_MS = 500;

/** How a batch of text requests is done: its lines are looked at, have jobs of their own, and their results are put together. */
export const runTextBatch = (service: TextBatchService): JobProcessor<'text.batch'> => ({
  run: async (input, context) => {
    const { records, services, now } = service;
    const { jobId, keyId, requestId, signal, aside } = context;
    await records.create(jobId, { ...input, keyId });
    const label = batchIdOf(input.face, jobId);
    const { headers, endpoint, fileId, untilMs } = input;
    const endpoints = textLines(services, endpoint, { requestId, headers, label });
    const known = await records.find(jobId);
    // A person had its job queued again.
    if (known?.end) return { counts: known.end.counts };
    const total = known?.lines ?? (await check(service, input, { context, endpoints }));
    await records.mark(jobId, 'inProgressAtMs', now());
    const batch = known?.lines === total ? known : await records.find(jobId);
    if (batch !== undefined) await runAtProvider(service, batch, { context, aside, isEnding: false });
    const lines = linesOf(service, fileId, { signal });
    await runLines<TextJob, 'text.batch'>(
      { ...service, endpoints },
      { lines, total, untilMs, strict: false },
      context,
    );
    await records.mark(jobId, 'finalizingAtMs', now());
    const status = now() < untilMs ? 'completed' : 'expired';
    const { counts } = await collected(service, context, { status });
    return { counts };
  },
  // It was cancelled, or has failed: what its lines came to until then is put together all the same.
  ended: async ({ jobId, error }) => {
    if (error !== undefined) await finishBatch(service, jobId);
  },
});

interface Checking {
  readonly context: Pick<JobContext, 'jobId' | 'keyId' | 'signal'>;
  readonly endpoints: ReturnType<typeof textLines>;
}

/** The number of its lines. @throws {GatewayError} the first problem, where the batch has ended because of it */
async function check(
  service: TextBatchService,
  { fileId }: TextBatchInput,
  { context: { jobId, keyId, signal }, endpoints }: Checking,
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
  await collectBatch(service, jobId, { status: 'failed', problems }, signal);
  const message = first.line === null ? first.message : `Line ${first.line}: ${first.message}`;
  throw new GatewayError('invalid_value', { message, ...(first.param && { path: [first.param] }) });
}

/** A run that was interrupted may be at it still, until its claim is over. */
async function collected(
  service: TextBatchService,
  { jobId, signal }: Pick<JobContext, 'jobId' | 'signal'>,
  reason: EndReason,
): Promise<BatchEnd> {
  for (;;) {
    const end = await collectBatch(service, jobId, reason, signal);
    if (end !== null) return end;
    await delay(CLAIM_RETRY_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
