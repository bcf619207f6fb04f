import type { Job } from 'bullmq';

const MOST_CHARACTERS = 65_536;
const MOST_TEXTS = 100_000;

export interface JobEmitter {
  emit(text: string): Promise<void>;
  readonly hasEmitted: boolean;
  /** Resolves when everything emitted has been stored, so that it reaches the caller before the job's end does. */
  flush(): Promise<void>;
}

/** Sends a job's texts through its queue's event stream, the same that tells of its end, so that their order is kept. */
export function createJobEmitter(job: Job): JobEmitter {
  let count = 0;
  let last = Promise.resolve();
  return {
    emit: (text) => {
      if (text.length > MOST_CHARACTERS) return Promise.reject(new Error('an emitted text is too long'));
      count += 1;
      if (count > MOST_TEXTS) return Promise.reject(new Error('a job emitted too many texts'));
      const sent = job.updateProgress({ text });
      last = Promise.all([last, sent]).then(() => undefined);
      last.catch(() => undefined);
      return sent;
    },
    get hasEmitted() {
      return count > 0;
    },
    flush: () => last,
  };
}
