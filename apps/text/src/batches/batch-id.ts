import type { BatchFace } from '@gateway/contracts/jobs';

const PREFIXES: Readonly<Record<BatchFace, string>> = { openai: 'batch_', anthropic: 'msgbatch_' };

/** What callers call the batch of a job. */
export const batchIdOf = (face: BatchFace, jobId: string): string =>
  `${PREFIXES[face]}${jobId.slice(jobId.indexOf('_') + 1)}`;

/** The id of a batch's job; undefined for what is no batch's id. */
export function jobIdOfBatch(face: BatchFace, batchId: string): string | undefined {
  const prefix = PREFIXES[face];
  const hex = batchId.startsWith(prefix) ? batchId.slice(prefix.length) : '';
  return /^[0-9a-f]{32}$/.test(hex) ? `job_${hex}` : undefined;
}
