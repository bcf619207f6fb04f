import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { UploadStore } from '../files/upload-store.ts';

const ClaimMark = z.strictObject({
  jobId: z.string(),
  /** The worker that began it. */
  workerId: z.string(),
  /** Equal inputs have equal digests. */
  inputDigest: z.string(),
});
export type ClaimMark = z.infer<typeof ClaimMark>;

/**
 * Marks on disk which job has begun paid work under an idempotency key. Redis knows which job a key names,
 * but may lose its last second. Then the mark prevents a second payment for a repeated request. The mark
 * stays with the result, and is deleted when the job fails.
 */
export interface ClaimMarks {
  /** Resolves to the mark of the job that has begun under this claim: this one, if there was none before. */
  begin(claim: string, mark: ClaimMark): Promise<ClaimMark>;
  /** Lets another job begin. With an id, only if this job has the mark. */
  clear(claim: string, jobId?: string): Promise<void>;
}

export const createClaimMarks = ({
  notes,
  claimedIdOf,
}: Pick<UploadStore, 'notes' | 'claimedIdOf'>): ClaimMarks => {
  const read = async (claim: string): Promise<ClaimMark | undefined> => {
    const note = await notes.open(claimedIdOf(claim));
    return note && ClaimMark.parse(JSON.parse((await note.bytes()).toString()));
  };
  return {
    begin: async (claim, mark) => {
      if (await notes.putNew(claimedIdOf(claim), Buffer.from(JSON.stringify(mark)))) return mark;
      return (await read(claim)) ?? mark;
    },
    clear: async (claim, jobId) => {
      if (jobId !== undefined && (await read(claim))?.jobId !== jobId) return;
      await notes.delete(claimedIdOf(claim));
    },
  };
};

export const digestOf = (input: unknown): string =>
  createHash('sha256').update(JSON.stringify(input)).digest('base64url');
