import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { UploadStore } from '../files/upload-store.ts';

const ClaimMark = z.strictObject({
  jobId: z.string(),
  /** Who began it. */
  workerId: z.string(),
  /** The same for the same input. */
  inputDigest: z.string(),
});
export type ClaimMark = z.infer<typeof ClaimMark>;

/**
 * Marks on disk which job has begun paid work under an idempotency key. Redis, which knows what a key names, may lose its last
 * second: then the mark keeps a repeated request from being paid again. It stays with the result, and goes when the job fails.
 */
export interface ClaimMarks {
  /** The job that has begun under this claim, which is this one where nobody had. */
  begin(claim: string, mark: ClaimMark): Promise<ClaimMark>;
  /** The next job may begin; with an id, if this job has the mark. */
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
