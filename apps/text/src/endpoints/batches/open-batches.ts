import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { BatchFace } from '@gateway/contracts/jobs';
import { hasEnded } from '@gateway/jobs/records/job-record';
import { contextOf, identityOf } from '@gateway/service-kit/request/request-context';
import { jobIdOfBatch } from '../../batches/batch-id.ts';
import type { BatchRecord } from '../../batches/batch-records.ts';
import type { TextBatchService } from './batch-service.ts';
import { finishIfOver } from './collect-batch.ts';
import { ENDING_MS, LIFETIME_MS } from './create-batch.ts';

interface NamedBatch {
  readonly face: BatchFace;
  readonly id: string;
  readonly request: IncomingMessage;
}

/** A batch of the caller's. @throws {GatewayError} `object_not_found` */
export async function findBatch(
  { records }: Pick<TextBatchService, 'records'>,
  { face, id, request }: NamedBatch,
): Promise<BatchRecord> {
  const { line } = contextOf(request);
  const jobId = jobIdOfBatch(face, id);
  const found = jobId === undefined ? undefined : await records.find(jobId);
  if (found === undefined || found.keyId !== identityOf(request).keyId || found.face !== face)
    throw new GatewayError('object_not_found', `You have no batch '${id.slice(0, 64)}'.`);
  Object.assign(line, { batchId: id, jobId });
  return found;
}

/** Cancels a batch; what has begun of it ends. Resolves to the batch as it is then. */
export async function cancelBatch(service: TextBatchService, batch: BatchRecord): Promise<BatchRecord> {
  const { records, queue, now } = service;
  if (batch.end !== null) return batch;
  await records.mark(batch.id, 'cancellingAtMs', now());
  const job = await queue.find(batch.id, batch.keyId);
  if (job !== undefined && !hasEnded(job)) await queue.cancelLater(job);
  finishLater(service, batch);
  return (await records.find(batch.id)) ?? batch;
}

/** Has a batch end whose job is over: the process that was to end it may have died. */
export function finishLater(service: TextBatchService, { id, end }: BatchRecord): void {
  if (end === null) finishIfOver(service, id).catch(service.onError);
}

const MINUTE_MS = 60_000;
/** Batches that one process ends at a time: each waits for its lines that are at a provider. */
const ENDED_AT_ONCE = 16;
const SLOW_MS = 5000;
/** A batch has ended before that, unless it has been forgotten. */
const FORGOTTEN_AFTER_MS = 2 * (LIFETIME_MS + ENDING_MS);
/** Each time all journals are listed. After a long rest of the whole gateway, batches end before their journals are looked at. */
const JOURNALS_EVERY_MS = 10 * MINUTE_MS;

/** Ends batches whose process has died before it could, and deletes files that have expired, again and again. */
export function startBatchSweeping(
  service: TextBatchService,
  { everyMs = MINUTE_MS, journalsEveryMs = JOURNALS_EVERY_MS } = {},
): { close(): Promise<void> } {
  const { records, files, journals, now, onError } = service;
  const ending = new Map<string, Promise<void>>();
  let sweep: Promise<void> | null = null;
  let journalsAtMs = now() + journalsEveryMs;
  const endOpen = async () => {
    for (const id of await records.openBefore(now() - MINUTE_MS)) {
      if (ending.has(id)) continue;
      if (ending.size >= ENDED_AT_ONCE) {
        // Most are at work, which is found out at once.
        await Promise.race([...ending.values(), delay(SLOW_MS, undefined, { ref: false })]);
        if (ending.size >= ENDED_AT_ONCE) return;
      }
      const ended = finishIfOver(service, id)
        .catch(onError)
        .finally(() => ending.delete(id));
      ending.set(id, ended);
    }
  };
  const run = async () => {
    await endOpen().catch(onError);
    // What has expired goes also where a batch cannot be ended: that may want for its space.
    await files.sweep();
    if (now() < journalsAtMs) return;
    journalsAtMs = now() + journalsEveryMs;
    await journals.sweep(now() - FORGOTTEN_AFTER_MS);
  };
  const timer = setInterval(() => {
    sweep ??= run()
      .catch(onError)
      .finally(() => {
        sweep = null;
      });
  }, everyMs).unref();
  return {
    close: async () => {
      clearInterval(timer);
      await sweep;
      await Promise.all(ending.values());
    },
  };
}
