import { setTimeout as delay } from 'node:timers/promises';
import type { LineState } from '@gateway/jobs/records/line-states';
import type { LineJournal } from '../../batches/line-journal.ts';
import type { TextBatches } from './batch-service.ts';

const EVERY_MS = 200;
const WRITTEN_AT_ONCE = 1000;

interface TrackOptions extends Pick<TextBatches, 'progress' | 'onError'> {
  readonly journal: LineJournal;
  readonly batchId: string;
  readonly total: number;
}

/**
 * Keeps how far a batch and its lines are, for those who look at it: at the beginning, since Redis may have lost that, and then as they
 * change, some times a second.
 */
export function trackLines({ progress, journal, batchId, total, onError }: TrackOptions) {
  /** Lines of which the state is to be written, from the first to the last. */
  let first = 0;
  let last = total - 1;
  let isClosing = false;
  const closed = new AbortController();

  const stateOf = (index: number): LineState => {
    const end = journal.end(index);
    if (end === undefined) {
      const status = journal.begunLines.has(index) ? 'in_progress' : 'queued';
      return { status, errorCode: null, errorMessage: null };
    }
    const { type, errorCode, errorMessage } = end;
    return { status: type === 'succeeded' ? 'completed' : 'failed', errorCode, errorMessage };
  };

  const write = async () => {
    const [from, to] = [first, last];
    [first, last] = [Number.POSITIVE_INFINITY, -1];
    for (let at = from; at <= to; at += WRITTEN_AT_ONCE) {
      const length = Math.min(WRITTEN_AT_ONCE, to + 1 - at);
      const states = Array.from({ length }, (_, offset) => stateOf(at + offset));
      await progress.keepLines(batchId, { from: at, states });
    }
    await progress.keepCounts(batchId, { total, ...journal.counts });
  };

  const run = async () => {
    await write().catch(onError);
    for (;;) {
      await delay(EVERY_MS, undefined, { signal: closed.signal }).catch(() => undefined);
      if (last >= 0) await write().catch(onError);
      else if (isClosing) return;
    }
  };
  const running = run();

  return {
    changed: (index: number): void => {
      first = Math.min(first, index);
      last = Math.max(last, index);
    },
    /** Resolves when all is written. */
    close: async (): Promise<void> => {
      isClosing = true;
      closed.abort();
      await running;
    },
  };
}
