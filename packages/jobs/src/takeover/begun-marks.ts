import type { UploadStore } from '../files/upload-store.ts';

/**
 * Marks beside a job's input that its work has begun, and in which worker. The mark outlives the data in
 * Redis, which may have lost the job or returned to an older state. It is deleted with the input.
 */
export interface BegunMarks {
  /** The worker that began it; undefined where nobody has. */
  begunBy(inputId: string): Promise<string | undefined>;
  /** Resolves to false if somebody has begun before. */
  begin(inputId: string, workerId: string): Promise<boolean>;
  /** Call it when the attempt is over and another may begin. */
  clear(inputId: string): Promise<void>;
}

export const createBegunMarks = ({
  notes,
  begunIdOf,
}: Pick<UploadStore, 'notes' | 'begunIdOf'>): BegunMarks => ({
  begunBy: async (inputId) => {
    const mark = await notes.open(begunIdOf(inputId));
    return mark && (await mark.bytes()).toString();
  },
  begin: (inputId, workerId) => notes.putNew(begunIdOf(inputId), Buffer.from(workerId)),
  clear: (inputId) => notes.delete(begunIdOf(inputId)),
});
