import type { BatchCounts } from '@gateway/contracts/jobs';
import type { BatchObject } from '@gateway/contracts/openai/batches';
import { batchIdOf } from '../../batches/batch-id.ts';
import type { BatchRecord } from '../../batches/batch-records.ts';

const toSeconds = (ms: number): number => Math.floor(ms / 1000);
const toSecondsOrNull = (ms: number | null): number | null => (ms === null ? null : toSeconds(ms));

/** How far a batch is. */
export function batchStatus({
  end,
  cancellingAtMs,
  finalizingAtMs,
  inProgressAtMs,
}: BatchRecord): BatchObject['status'] {
  if (end !== null) return end.status;
  if (cancellingAtMs !== null) return 'cancelling';
  if (finalizingAtMs !== null) return 'finalizing';
  return inProgressAtMs === null ? 'validating' : 'in_progress';
}

/** A batch as OpenAI's clients see it. @param counted its lines, while it is at work */
export function batchObject(batch: BatchRecord, counted: BatchCounts | undefined): BatchObject {
  const { end, metadata, lines, onlyModel } = batch;
  const { total, completed, failed } = end?.counts ??
    counted ?? { total: lines ?? 0, completed: 0, failed: 0 };
  const { inputTokens = 0, cachedInputTokens = 0, outputTokens = 0, reasoningTokens = 0 } = end?.usage ?? {};
  const endedAs = (status: BatchObject['status']) => (end?.status === status ? toSeconds(end.atMs) : null);
  const problems = end?.problems ?? [];
  return {
    id: batchIdOf('openai', batch.id),
    object: 'batch',
    endpoint: batch.endpoint,
    ...(onlyModel !== null && { model: onlyModel }),
    errors: problems.length === 0 ? null : { object: 'list', data: [...problems] },
    input_file_id: batch.fileId,
    completion_window: '24h',
    status: batchStatus(batch),
    output_file_id: end?.files.output ?? null,
    error_file_id: end?.files.error ?? null,
    created_at: toSeconds(batch.createdAtMs),
    in_progress_at: toSecondsOrNull(batch.inProgressAtMs),
    expires_at: toSeconds(batch.untilMs),
    finalizing_at: toSecondsOrNull(batch.finalizingAtMs),
    completed_at: endedAs('completed'),
    failed_at: endedAs('failed'),
    expired_at: endedAs('expired'),
    cancelling_at: toSecondsOrNull(batch.cancellingAtMs),
    cancelled_at: endedAs('cancelled'),
    request_counts: { total, completed, failed },
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedInputTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: inputTokens + outputTokens,
    },
    metadata,
  };
}
